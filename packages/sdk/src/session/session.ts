import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Ask,
  type Assign,
  Feature,
  type Finished,
  PROTOCOL_VERSION,
  type ServerMessage,
  type StartedSchema,
  type Step,
  type Token,
  type Welcome,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";
import { MainspringError } from "../errors.ts";
import type { StallGuard } from "../handlers/stall-guard.ts";
import type { Runtime, Timer } from "../runtime.ts";
import { Reconnector } from "./connection.ts";
import { HeldAttempts } from "./held-attempts.ts";
import {
  assignmentOf,
  cancelCauseOf,
  messagesOf,
  outputMessagesOf,
  refOf,
  releasedMessage,
  stepMessagesOf,
  stepRefOf,
} from "./messages.ts";
import type { WorkerProfile } from "./profile.ts";
import { RecordedBuffer } from "./recorded-steps.ts";
import { type Assignment, type LogReport, NO_ORDERS, type Orders, type Report, type StepRef } from "./work.ts";
import type { ClosedReason, LinkConnection, WorkerLink } from "./worker-link.ts";

/**
 * Longest wait for the answer to the hello, in milliseconds. After that the session tries another server, in time
 * before the worker is lost.
 */
const WELCOME_MAX_MS = 4_000;
/**
 * Time that the session waits for Assigns that were on their way when the server heard of the drain, in milliseconds.
 * The session hands these back.
 */
const LINGER_MS = 200;
/** Largest number of log lines that the session keeps while no server has welcomed the worker. */
const UNSENT_LOGS_MAX = 1_000;
/** Interval at which the session records that the process runs, in milliseconds. */
const BEAT_EVERY_MS = 1_000;
/** Interval at which the session repeats the same reason for a missing connection, in milliseconds. */
const TELL_AGAIN_MS = 60_000;
/** Largest number of reasons that the session logs within that interval. */
const REASONS_MAX = 10;
/**
 * gRPC statuses that a retry does not change: INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED,
 * UNAUTHENTICATED.
 */
const REFUSALS: readonly number[] = [3, 7, 9, 12, 16];

type StartedInit = MessageInitShape<typeof StartedSchema>;

export interface SessionEvents {
  orders(orders: Orders): void;
  /**
   * Called when the server has accepted the worker, and again after each reconnect.
   * @param tooOld name of the server if it is too old to store steps, which rejects all that wait; null: it can
   */
  welcomed(tooOld: string | null): void;
  /** Called once, as the last event, when the session has ended. null: the session was asked to leave. */
  left(error: MainspringError | null): void;
  /** Called with a message for the people who run the worker. */
  warn(message: string): void;
  /** Delay of the event loop that runs the handlers, for the heartbeats, in milliseconds; absent: not known. */
  loopLagMs?(): number;
  /**
   * Called when the event loop that runs the handlers did not answer for `forMs` milliseconds; absent: not measured.
   */
  late?(forMs: number): void;
}

/** Part of a session that a worker's executor uses. */
export interface SessionControl {
  start(): void;
  report(report: Report): void;
  /**
   * Drains the worker: it takes no more work, hands back what has not started, waits until the rest is finished and
   * acknowledged, and leaves.
   * @param limitMs time after which the worker leaves in any case, in milliseconds; null: no limit
   */
  drain(limitMs: number | null): void;
}

/**
 * Worker's side of the protocol: plain code, driven by messages, reports and timers. The session keeps every result
 * until the server has acknowledged or refused it, over as many connections as that takes.
 */
export class Session implements SessionControl {
  readonly #profile: WorkerProfile;
  readonly #runtime: Runtime;
  readonly #events: SessionEvents;
  readonly #reconnector: Reconnector;
  readonly #attempts = new HeldAttempts();
  readonly #guard: StallGuard;
  #connection: LinkConnection | null = null;
  /**
   * Number of connections so far, at any gateway, the present one included. The gateway with the highest number has the
   * worker.
   */
  #connections = 0;
  /** Attempts that started between the hello, which therefore does not list them as started, and the welcome. */
  #unsaid: StartedInit[] = [];
  /** Last lines that handlers logged while no server had welcomed the worker. */
  #unsentLogs: readonly LogReport[] = [];
  /** Times at which reasons for a missing connection were logged, in milliseconds of the monotonic clock. */
  readonly #told = new Map<string, number>();
  readonly #recorded = new RecordedBuffer();
  #isWelcome = false;
  /** Whether the present gateway, else the one before, can store steps. */
  #storesSteps = true;
  #wasWelcome = false;
  #isDraining = false;
  #hasLeft = false;
  /** Timer of the welcome's deadline, later of the next heartbeat. */
  #pulse: Timer | null = null;
  #limit: Timer | null = null;
  #linger: Timer | null = null;
  #beat: Timer | null = null;

  /** @param guard stall guard that the session shares with the executor */
  constructor(profile: WorkerProfile, link: WorkerLink, runtime: Runtime, guard: StallGuard, events: SessionEvents) {
    this.#profile = profile;
    this.#guard = guard;
    this.#runtime = runtime;
    this.#events = events;
    this.#reconnector = new Reconnector(link, runtime, {
      opened: (connection) => this.#opened(connection),
      message: (message) => this.#receive(message),
      closed: (...ended) => this.#closed(...ended),
    });
  }

  start(): void {
    this.#guard.begin();
    this.#beatOn();
    this.#reconnector.open();
  }

  #beatOn(): void {
    this.#beat = this.#runtime.setTimer(BEAT_EVERY_MS, () => {
      this.#beatOn();
      // Without a server, nobody knows which attempts still wait for this worker, so the executor hands them back after
      // a while.
      if (this.#isWelcome) this.#noticesStall();
    });
  }

  /**
   * After a stall, no attempt that waits here or has just arrived may begin, because the server may have given it to
   * another worker. The executor hands back what waits, and the next hello lists what the worker holds.
   */
  #noticesStall(): boolean {
    if (!this.#guard.beat()) return false;
    this.#events.orders(NO_ORDERS);
    this.#reconnector.drop("this process stood still, so the worker connects again");
    return true;
  }

  report(report: Report): void {
    // The session records everything before it sends anything, because an answer may arrive while it sends.
    const started: StartedInit[] = [];
    for (const item of report.started) {
      const token = this.#attempts.start(item, item.startedAtMs);
      if (token !== null) started.push({ token, startedAtMs: BigInt(item.startedAtMs) });
    }
    const steps = this.#record(report);
    const finished = this.#finish(report);
    const ended = this.#end(report);
    if (!this.#isWelcome) {
      this.#unsaid.push(...started);
      if (report.logs.length > 0) this.#unsentLogs = [...this.#unsentLogs, ...report.logs].slice(-UNSENT_LOGS_MAX);
      return;
    }
    if (started.length > 0) this.#send({ started });
    this.#sendAll(stepMessagesOf(steps));
    this.#sendOutput(report);
    // A result follows the records of its attempt.
    this.#sendAll(messagesOf(finished));
    // `ended` follows the results, because an attempt may have been ended by force in the same turn.
    if (ended.length > 0) this.#send({ ended });
  }

  #record({ steps = [] }: Report): Step[] {
    // The executor rejects these, because it is told of this gateway.
    if (this.#isTooOld) return [];
    return steps.map((step) => this.#attempts.record(step)).filter((step) => step !== null);
  }

  #finish({ finished }: Report): Finished[] {
    const isTooOld = this.#isTooOld;
    return finished.map((item) => this.#attempts.finish(item, isTooOld)).filter((item) => item !== null);
  }

  get #isTooOld(): boolean {
    return this.#isWelcome && !this.#storesSteps;
  }

  /** The result of an attempt that the server no longer wants still says that the handler has ended. */
  #end({ finished, ended }: Report): Token[] {
    const refs = [...finished.filter(({ stillRunning }) => !stillRunning), ...ended];
    return refs.map((ref) => this.#attempts.end(ref)).filter((token) => token !== null);
  }

  drain(limitMs: number | null): void {
    if (this.#hasLeft) return;
    if (limitMs !== null) this.#limitDrain(limitMs);
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#events.orders({ ...NO_ORDERS, drain: true });
    if (this.#isWelcome) this.#send({ draining: true });
    this.#leaveWhenDone();
  }

  #limitDrain(limitMs: number): void {
    this.#limit?.cancel();
    this.#limit = this.#runtime.setTimer(limitMs, () => {
      if (this.#attempts.size > 0) {
        this.#events.warn(`left with ${this.#attempts.size} attempts that are not finished or not acknowledged`);
      }
      this.#leave(null);
    });
  }

  #opened(link: LinkConnection): void {
    this.#connection = link;
    const from = link.peer ?? "the server";
    this.#pulse = this.#runtime.setTimer(WELCOME_MAX_MS, () => this.#reconnector.drop(`no welcome from ${from}`));
    const { workerId, secret = "", name, pool, handlers, capabilities, slots, prefetch, policies = [] } = this.#profile;
    const identity = { workerId, secret, name, pool, handlers: [...handlers], capabilities: [...capabilities] };
    const holds = this.#attempts.list();
    const connection = ++this.#connections;
    this.#unsaid = [];
    this.#recorded.clear();
    const isAuto = prefetch === "auto";
    const features = Feature.AUTHORITY | Feature.POLICIES | Feature.STEPS | (isAuto ? Feature.AUTO_PREFETCH : 0);
    // A server that does not know automatic prefetch accepts no more unfinished attempts than slots and prefetch allow.
    const room = isAuto ? Math.max(0, this.#attempts.unfinished - slots) : prefetch;
    const declared = policies.map((one) => ({ handler: one.handler, policies: Buffer.from(one.policies) }));
    const said = { ...identity, slots, prefetch: room, holds, connection, features, policies: declared };
    this.#send({ hello: { protocolVersion: PROTOCOL_VERSION, ...said, returning: this.#wasWelcome } });
  }

  #closed(reason: ClosedReason, isKeyDead: boolean): boolean {
    this.#pulse?.cancel();
    this.#connection = null;
    this.#isWelcome = false;
    const isRefusal = reason.code !== undefined && REFUSALS.includes(reason.code);
    // The server accepted this worker before, so the refusal may be temporary.
    if (isKeyDead || (isRefusal && !this.#wasWelcome)) {
      this.#leave(new MainspringError("WORKER_REFUSED", `the server refused this worker: ${reason.message}`));
      return false;
    }
    this.#tellOnce(reason.message);
    return true;
  }

  /**
   * Logs a reason once per interval, because a worker with a wrong address tries for ever and must not fill the log.
   */
  #tellOnce(reason: string): void {
    const nowMs = this.#runtime.monotonicMs();
    for (const [told, atMs] of this.#told) if (nowMs - atMs >= TELL_AGAIN_MS) this.#told.delete(told);
    if (this.#told.has(reason) || this.#told.size >= REASONS_MAX) return;
    this.#told.set(reason, nowMs);
    this.#events.warn(`not connected to the server: ${reason}. The worker goes on trying`);
  }

  #receive(message: ServerMessage): void {
    if (this.#isWelcome && this.#noticesStall()) return;
    if (message.welcome !== undefined) this.#welcome(message.welcome);
    if (message.recorded.length > 0) this.#recorded.add(message.recorded, this.#runtime.monotonicMs());
    // Records precede the settling of their attempts.
    const stepAcks = message.stepAcks.flatMap(stepRefOf).filter((ref) => this.#attempts.acknowledge(ref));
    // The session settles tokens first, because an Assign of the same message may be the next attempt of one of them.
    for (const token of message.acks) this.#attempts.settle(token);
    this.#pass(message, stepAcks);
    if (message.resendResults) this.#resend();
    if (message.drain) this.drain(null);
    this.#leaveWhenDone();
  }

  #pass(message: ServerMessage, stepAcks: StepRef[]): void {
    const { assigns, cancels, refused, takeBack, ask } = message;
    if (assigns.length + cancels.length + refused.length + takeBack.length + stepAcks.length > 0) {
      for (const token of refused) this.#attempts.settle(token);
      const told = cancels.flatMap(({ token, reason }) =>
        token === undefined ? [] : { ...refOf(token), cause: cancelCauseOf(reason) },
      );
      const orders = { ...NO_ORDERS, cancels: told, forget: refused.map(refOf), takeBack: takeBack.map(refOf) };
      const acks = stepAcks.length > 0 && { stepAcks };
      this.#events.orders({ ...orders, ...acks, assigns: this.#take(assigns) });
    }
    if (ask !== undefined) this.#answer(ask);
  }

  /** @returns attempts that are new here; for the others, the session sends the server their outcome */
  #take(assigns: readonly Assign[]): Assignment[] {
    const taken: Assignment[] = [];
    const answers: Finished[] = [];
    const steps: Step[] = [];
    for (const assign of assigns) {
      const { token } = assign;
      if (token === undefined) continue;
      const taking = this.#attempts.take(assign, token);
      const recorded = this.#recorded.take(token);
      if (taking === "NEW") taken.push(assignmentOf(assign, token, recorded));
      else if (taking === "HELD") {
        steps.push(...this.#attempts.stepsOf(token));
        answers.push(...this.#resultsOf(token));
      } else answers.push(releasedMessage(token, this.#runtime.now()));
    }
    this.#sendAll(stepMessagesOf(steps));
    if (answers.length > 0) this.#sendAll(messagesOf(answers));
    return taken;
  }

  #resultsOf(token: Token): Finished[] {
    const result = this.#attempts.resultOf(token);
    return result === null ? [] : [result];
  }

  #answer({ nonce, tokens, epochs }: Ask): void {
    this.#attempts.learn(epochs);
    this.#send({ holds: { nonce, holds: this.#attempts.among(tokens) } });
  }

  #welcome({ heartbeatIntervalMs, features, gateway }: Welcome): void {
    this.#guard.beat();
    this.#isWelcome = true;
    this.#wasWelcome = true;
    this.#storesSteps = (features & Feature.STEPS) !== 0;
    if (!this.#storesSteps) this.#attempts.dropSteps();
    this.#told.clear();
    this.#pulse?.cancel();
    this.#heartbeat(Math.min(Math.max(heartbeatIntervalMs, 10), 60_000));
    if (this.#isDraining) this.#send({ draining: true });
    if (this.#unsaid.length > 0) this.#send({ started: this.#unsaid });
    this.#unsaid = [];
    if (this.#unsentLogs.length > 0) this.#sendOutput({ progress: [], logs: this.#unsentLogs });
    this.#unsentLogs = [];
    this.#resend();
    this.#events.welcomed(this.#storesSteps ? null : (this.#connection?.peer ?? gateway));
  }

  #heartbeat(intervalMs: number): void {
    this.#pulse = this.#runtime.setTimer(intervalMs, () => this.#heartbeat(intervalMs));
    this.#send({ heartbeat: { running: this.#attempts.unfinished, loopLagMs: this.#events.loopLagMs?.() ?? 0 } });
  }

  #resend(): void {
    // Results follow the records of their attempts.
    this.#sendAll(stepMessagesOf([...this.#attempts.steps()]));
    this.#sendAll(messagesOf([...this.#attempts.results()]));
  }

  #sendOutput(report: Pick<Report, "progress" | "logs">): void {
    for (const message of outputMessagesOf(report, (ref) => this.#attempts.tokenOf(ref))) {
      if (this.#connection?.isCongested?.() === true) return;
      this.#connection?.send(message);
    }
  }

  #send(init: MessageInitShape<typeof WorkerMessageSchema>): void {
    this.#connection?.send(create(WorkerMessageSchema, init));
  }

  #sendAll(messages: Iterable<WorkerMessage>): void {
    for (const message of messages) this.#connection?.send(message);
  }

  #leaveWhenDone(): void {
    if (!this.#isDraining || this.#hasLeft || this.#attempts.size > 0) return;
    this.#linger ??= this.#runtime.setTimer(this.#wasWelcome ? LINGER_MS : 0, () => {
      this.#linger = null;
      if (this.#attempts.size === 0) this.#leave(null);
    });
  }

  #leave(error: MainspringError | null): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    for (const timer of [this.#pulse, this.#limit, this.#linger, this.#beat]) timer?.cancel();
    this.#isWelcome = false;
    this.#connection = null;
    this.#reconnector.close();
    this.#events.orders({ ...NO_ORDERS, drain: true, abandon: true });
    this.#events.left(error);
  }
}
