import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Ask,
  type Assign,
  Feature,
  type Finished,
  PROTOCOL_VERSION,
  type ServerMessage,
  type StartedSchema,
  type Token,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";
import { Reconnector } from "./connection.ts";
import { MainspringError } from "./errors.ts";
import { Holdings } from "./holdings.ts";
import { assignmentOf, cancelCauseOf, chatterMessagesOf, messagesOf, refOf, releasedMessage } from "./messages.ts";
import type { WorkerProfile } from "./profile.ts";
import type { Runtime, Timer } from "./runtime.ts";
import type { StallGuard } from "./stall-guard.ts";
import { type Assignment, NO_ORDERS, type Orders, type Report } from "./work.ts";
import type { ClosedReason, LinkConnection, WorkerLink } from "./worker-link.ts";

/**
 * A server that was reached answers the hello within this, or is given up: in time for another one before the worker is
 * lost.
 */
const WELCOME_MAX_MS = 4_000;
/** Assigns that were under way when the server heard of the draining arrive within this, and are handed back. */
const LINGER_MS = 200;
/** Interval at which the session notes that the process runs. */
const BEAT_EVERY_MS = 1_000;
/** Interval at which the same reason for a missing connection is told again. */
const TELL_AGAIN_MS = 60_000;
/** Number of reasons that are told within that interval. */
const REASONS_MAX = 10;
/**
 * gRPC statuses that trying again does not change: INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION,
 * UNIMPLEMENTED, UNAUTHENTICATED.
 */
const REFUSALS: readonly number[] = [3, 7, 9, 12, 16];

type StartedInit = MessageInitShape<typeof StartedSchema>;

export interface SessionEvents {
  orders(orders: Orders): void;
  /** Connected, and known to the server; again after each reconnect. */
  welcomed(): void;
  /** Once, and nothing after it. null: as it was asked to. */
  left(error: MainspringError | null): void;
  /** Something that people should see. */
  warn(message: string): void;
  /** How late the loop that runs the handlers is, for the heartbeats; left out: not known. */
  loopLagMs?(): number;
  /**
   * The loop that runs the handlers did not answer for so many milliseconds; left out: not known, or nobody wants to
   * know.
   */
  late?(forMs: number): void;
}

/** Part of a session that a worker's executor sees. */
export interface SessionControl {
  start(): void;
  report(report: Report): void;
  /**
   * Takes no more work, hands back what has not started, waits until the rest is finished and acknowledged, and leaves.
   * @param limitMs leaves after that in any case; null: takes what time it needs
   */
  drain(limitMs: number | null): void;
}

/**
 * The worker's side of the protocol: plain code, driven by messages, reports and timers. Keeps every result until the
 * server has acknowledged or refused it, over as many connections as that takes.
 */
export class Session implements SessionControl {
  readonly #profile: WorkerProfile;
  readonly #runtime: Runtime;
  readonly #events: SessionEvents;
  readonly #reconnector: Reconnector;
  readonly #holdings = new Holdings();
  readonly #guard: StallGuard;
  #connection: LinkConnection | null = null;
  /** How many there were, at any gateway, this one included: the gateway with the highest number has the worker. */
  #connections = 0;
  /** Started since the hello, which therefore does not say so, and before the welcome. */
  #unsaid: StartedInit[] = [];
  /** Times at which reasons for a missing connection were told, in milliseconds of the monotonic clock. */
  readonly #told = new Map<string, number>();
  #isWelcome = false;
  #wasWelcome = false;
  #isDraining = false;
  #hasLeft = false;
  /** The welcome's deadline, then the next heartbeat. */
  #pulse: Timer | null = null;
  #limit: Timer | null = null;
  #linger: Timer | null = null;
  #beat: Timer | null = null;

  /** @param guard shared with the executor */
  constructor(profile: WorkerProfile, link: WorkerLink, runtime: Runtime, guard: StallGuard, events: SessionEvents) {
    this.#profile = profile;
    this.#guard = guard;
    this.#runtime = runtime;
    this.#events = events;
    this.#reconnector = new Reconnector(link, runtime, {
      opened: (connection) => this.#opened(connection),
      message: (message) => this.#receive(message),
      closed: (reason) => this.#closed(reason),
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
      // Without a server nobody can say what still waits for this worker: the executor hands it back after a while.
      if (this.#isWelcome) this.#noticesStall();
    });
  }

  /**
   * After a stall nothing that waits here or came over the connection may begin: the server may have given it to others. The
   * executor hands back what waits, and the next hello says what is held.
   */
  #noticesStall(): boolean {
    if (!this.#guard.beat()) return false;
    this.#events.orders(NO_ORDERS);
    this.#reconnector.drop("this process stood still, so the worker connects again");
    return true;
  }

  report(report: Report): void {
    // All is recorded before anything is sent: an answer may come while sending.
    const started: StartedInit[] = [];
    for (const item of report.started) {
      const token = this.#holdings.start(item, item.startedAtMs);
      if (token !== null) started.push({ token, startedAtMs: BigInt(item.startedAtMs) });
    }
    const finished = this.#finish(report);
    const ended = this.#end(report);
    if (!this.#isWelcome) {
      this.#unsaid.push(...started);
      return;
    }
    if (started.length > 0) this.#send({ started });
    this.#sendChatter(report);
    this.#sendAll(messagesOf(finished));
    // After the results: an attempt may have been ended by force in the same turn.
    if (ended.length > 0) this.#send({ ended });
  }

  #finish({ finished }: Report): Finished[] {
    return finished.map((item) => this.#holdings.finish(item)).filter((item) => item !== null);
  }

  /** A result that nobody wants any more tells no less that the handler has ended. */
  #end({ finished, ended }: Report): Token[] {
    const refs = [...finished.filter(({ stillRunning }) => !stillRunning), ...ended];
    return refs.map((ref) => this.#holdings.end(ref)).filter((token) => token !== null);
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
      if (this.#holdings.size > 0) {
        this.#events.warn(`left with ${this.#holdings.size} attempts that are not finished or not acknowledged`);
      }
      this.#leave(null);
    });
  }

  #opened(link: LinkConnection): void {
    this.#connection = link;
    const from = link.peer ?? "the server";
    this.#pulse = this.#runtime.setTimer(WELCOME_MAX_MS, () => this.#reconnector.drop(`no welcome from ${from}`));
    const { workerId, secret = "", name, pool, handlers, capabilities, slots, prefetch } = this.#profile;
    const identity = { workerId, secret, name, pool, handlers: [...handlers], capabilities: [...capabilities] };
    const holds = this.#holdings.list();
    const connection = ++this.#connections;
    this.#unsaid = [];
    const features = Feature.AUTHORITY;
    const hello = { protocolVersion: PROTOCOL_VERSION, ...identity, slots, prefetch, holds, connection, features };
    this.#send({ hello });
  }

  #closed(reason: ClosedReason): boolean {
    this.#pulse?.cancel();
    this.#connection = null;
    this.#isWelcome = false;
    const isRefusal = reason.code !== undefined && REFUSALS.includes(reason.code);
    // A worker that the server took before is what the server wants: that it is refused now may pass.
    if (isRefusal && !this.#wasWelcome) {
      this.#leave(new MainspringError("WORKER_REFUSED", `the server refused this worker: ${reason.message}`));
      return false;
    }
    this.#tellOnce(reason.message);
    return true;
  }

  /** A worker with a wrong address tries for ever, and fills no log by that. */
  #tellOnce(reason: string): void {
    const nowMs = this.#runtime.monotonicMs();
    for (const [told, atMs] of this.#told) if (nowMs - atMs >= TELL_AGAIN_MS) this.#told.delete(told);
    if (this.#told.has(reason) || this.#told.size >= REASONS_MAX) return;
    this.#told.set(reason, nowMs);
    this.#events.warn(`not connected to the server: ${reason}. The worker goes on trying`);
  }

  #receive(message: ServerMessage): void {
    if (this.#isWelcome && this.#noticesStall()) return;
    if (message.welcome !== undefined) this.#welcome(message.welcome.heartbeatIntervalMs);
    // Tokens that are settled go first: an Assign of the same message may be the next attempt of one of them.
    for (const token of message.acks) this.#holdings.settle(token);
    this.#pass(message);
    if (message.resendResults) this.#resend();
    if (message.drain) this.drain(null);
    this.#leaveWhenDone();
  }

  #pass(message: ServerMessage): void {
    const { assigns, cancels, refused, takeBack, ask } = message;
    if (assigns.length + cancels.length + refused.length + takeBack.length > 0) {
      for (const token of refused) this.#holdings.settle(token);
      const told = cancels.flatMap(({ token, reason }) =>
        token === undefined ? [] : { ...refOf(token), cause: cancelCauseOf(reason) },
      );
      const orders = { ...NO_ORDERS, cancels: told, forget: refused.map(refOf), takeBack: takeBack.map(refOf) };
      this.#events.orders({ ...orders, assigns: this.#take(assigns) });
    }
    if (ask !== undefined) this.#answer(ask);
  }

  /** @returns what is new here; the server hears of the rest what became of it */
  #take(assigns: readonly Assign[]): Assignment[] {
    const taken: Assignment[] = [];
    const answers: Finished[] = [];
    for (const assign of assigns) {
      const { token } = assign;
      if (token === undefined) continue;
      const taking = this.#holdings.take(assign, token);
      if (taking === "NEW") taken.push(assignmentOf(assign, token));
      else if (taking === "HELD") answers.push(...this.#resultsOf(token));
      else answers.push(releasedMessage(token, this.#runtime.now()));
    }
    if (answers.length > 0) this.#sendAll(messagesOf(answers));
    return taken;
  }

  #resultsOf(token: Token): Finished[] {
    const result = this.#holdings.resultOf(token);
    return result === null ? [] : [result];
  }

  #answer({ nonce, tokens, epochs }: Ask): void {
    this.#holdings.learn(epochs);
    this.#send({ holds: { nonce, holds: this.#holdings.among(tokens) } });
  }

  #welcome(heartbeatIntervalMs: number): void {
    this.#guard.beat();
    this.#isWelcome = true;
    this.#wasWelcome = true;
    this.#told.clear();
    this.#pulse?.cancel();
    this.#heartbeat(Math.min(Math.max(heartbeatIntervalMs, 10), 60_000));
    if (this.#isDraining) this.#send({ draining: true });
    if (this.#unsaid.length > 0) this.#send({ started: this.#unsaid });
    this.#unsaid = [];
    this.#resend();
    this.#events.welcomed();
  }

  #heartbeat(intervalMs: number): void {
    this.#pulse = this.#runtime.setTimer(intervalMs, () => this.#heartbeat(intervalMs));
    this.#send({ heartbeat: { running: this.#holdings.unfinished, loopLagMs: this.#events.loopLagMs?.() ?? 0 } });
  }

  #resend(): void {
    this.#sendAll(messagesOf([...this.#holdings.results()]));
  }

  #sendChatter(report: Report): void {
    for (const message of chatterMessagesOf(report, (ref) => this.#holdings.tokenOf(ref))) {
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
    if (!this.#isDraining || this.#hasLeft || this.#holdings.size > 0) return;
    this.#linger ??= this.#runtime.setTimer(this.#wasWelcome ? LINGER_MS : 0, () => {
      this.#linger = null;
      if (this.#holdings.size === 0) this.#leave(null);
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
