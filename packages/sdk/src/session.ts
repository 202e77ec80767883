import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  PROTOCOL_VERSION,
  type ServerMessage,
  type StartedSchema,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";
import { Reconnector } from "./connection.ts";
import { MainspringError } from "./errors.ts";
import { Holdings } from "./holdings.ts";
import { assignmentOf, cancelCauseOf, chatterMessagesOf, messagesOf, refOf } from "./messages.ts";
import type { WorkerProfile } from "./profile.ts";
import type { Runtime, Timer } from "./runtime.ts";
import { type Assignment, NO_ORDERS, type Orders, type Report } from "./work.ts";
import type { ClosedReason, LinkConnection, WorkerLink } from "./worker-link.ts";

/** A server that was reached answers the hello within this, or is given up: in time for another one before the worker is lost. */
const WELCOME_MAX_MS = 4_000;
/** Assigns that were under way when the server heard of the draining arrive within this, and are handed back. */
const LINGER_MS = 200;
/** gRPC statuses that trying again does not change: INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED. */
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
}

/** What a worker's executor sees of its session. */
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
  #connection: LinkConnection | null = null;
  /** How many there were, at any gateway, this one included: the gateway with the highest number has the worker. */
  #connections = 0;
  /** Started since the hello, which therefore does not say so, and before the welcome. */
  #unsaid: StartedInit[] = [];
  #isWelcome = false;
  #wasWelcome = false;
  #isDraining = false;
  #hasLeft = false;
  /** The welcome's deadline, then the next heartbeat. */
  #pulse: Timer | null = null;
  #limit: Timer | null = null;
  #linger: Timer | null = null;

  constructor(profile: WorkerProfile, link: WorkerLink, runtime: Runtime, events: SessionEvents) {
    this.#profile = profile;
    this.#runtime = runtime;
    this.#events = events;
    this.#reconnector = new Reconnector(link, runtime, {
      opened: (connection) => this.#opened(connection),
      message: (message) => this.#receive(message),
      closed: (reason) => this.#closed(reason),
    });
  }

  start(): void {
    this.#reconnector.open();
  }

  report(report: Report): void {
    // All is recorded before anything is sent: an answer may come while sending.
    const started: StartedInit[] = [];
    for (const item of report.started) {
      const token = this.#holdings.start(item, item.startedAtMs);
      if (token !== null) started.push({ token, startedAtMs: BigInt(item.startedAtMs) });
    }
    const finished = report.finished.map((item) => this.#holdings.finish(item)).filter((item) => item !== null);
    if (!this.#isWelcome) {
      this.#unsaid.push(...started);
      return;
    }
    if (started.length > 0) this.#send({ started });
    this.#sendChatter(report);
    this.#sendAll(messagesOf(finished));
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
    this.#pulse = this.#runtime.setTimer(WELCOME_MAX_MS, () => this.#reconnector.drop("no welcome from the server"));
    const { workerId, secret = "", name, pool, handlers, capabilities, slots, prefetch } = this.#profile;
    const identity = { workerId, secret, name, pool, handlers: [...handlers], capabilities: [...capabilities] };
    const holds = this.#holdings.list();
    const connection = ++this.#connections;
    this.#unsaid = [];
    this.#send({ hello: { protocolVersion: PROTOCOL_VERSION, ...identity, slots, prefetch, holds, connection } });
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
    this.#events.warn(`not connected to the server: ${reason.message}`);
    return true;
  }

  #receive(message: ServerMessage): void {
    if (message.welcome !== undefined) this.#welcome(message.welcome.heartbeatIntervalMs);
    // Tokens that are settled go first: an Assign of the same message may be the next attempt of one of them.
    for (const token of message.acks) this.#holdings.settle(token);
    this.#pass(message);
    if (message.resendResults) this.#resend();
    if (message.drain) this.drain(null);
    this.#leaveWhenDone();
  }

  #pass(message: ServerMessage): void {
    const { assigns, cancels, refused } = message;
    if (assigns.length + cancels.length + refused.length === 0) return;
    for (const token of refused) this.#holdings.settle(token);
    const taken: Assignment[] = [];
    for (const assign of assigns) {
      const { token } = assign;
      if (token !== undefined && this.#holdings.take(token)) taken.push(assignmentOf(assign, token));
    }
    const told = cancels.flatMap(({ token, reason }) =>
      token === undefined ? [] : { ...refOf(token), cause: cancelCauseOf(reason) },
    );
    this.#events.orders({ ...NO_ORDERS, assigns: taken, cancels: told, forget: refused.map(refOf) });
  }

  #welcome(heartbeatIntervalMs: number): void {
    this.#isWelcome = true;
    this.#wasWelcome = true;
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
    for (const timer of [this.#pulse, this.#limit, this.#linger]) timer?.cancel();
    this.#isWelcome = false;
    this.#connection = null;
    this.#reconnector.close();
    this.#events.orders({ ...NO_ORDERS, drain: true, abandon: true });
    this.#events.left(error);
  }
}
