import type { WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { Incarnation, WorkerId } from "../domain/ids.ts";
import type { Bus, Envelope } from "../ports/bus.ts";
import type { ToGateway, WorkerStatus } from "../ports/messages.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { ConnectedWorker, WorkerConnection } from "./connections/connection.ts";
import { readHello } from "./connections/hello.ts";
import { Link, type LinkEvents } from "./connections/link.ts";
import { Counters, type GatewayCounters } from "./counters.ts";
import { FailedAttemptsLog } from "./failed-attempts-log.ts";
import { Demands } from "./lending/demands.ts";
import {
  ACKS_INTERVAL_MS,
  ACKS_WAIT_MS,
  CONNECTIONS_MAX,
  HELLO_WITHIN_MS,
  JUDGE_INTERVAL_MS,
  RECALL_INTERVAL_MS,
  ROLL_INTERVAL_MS,
} from "./limits.ts";
import { type GatewayLoad, loadOf } from "./load.ts";
import { News } from "./news.ts";
import { Orders } from "./orders.ts";
import { Owners } from "./owners.ts";
import { Fleet } from "./sessions/fleet.ts";
import { StallWatch } from "./sessions/liveness.ts";
import type { Session, Surroundings } from "./sessions/session.ts";
import { Talk } from "./talk.ts";

/** Owns the connections of its workers, and stands between them and the owners of shards. */
export interface Gateway {
  readonly counters: GatewayCounters;
  /** Slots and workers as they are now, for metrics. */
  load(): GatewayLoad;
  /** Takes a new connection. Its first message must be a hello. */
  connect(connection: WorkerConnection): ConnectedWorker;
  /**
   * Lends nothing any more, and sends its workers to other gateways, a few at a time: they carry on with what they run
   * there. A worker that knows no other gateway and comes back finishes its attempts. false: takes it all back. Idempotent.
   */
  drain(isDraining: boolean): void;
  /** Ends every connection and all listening; workers keep what they run and come back to the next server. */
  /**
   * All workers of this gateway, or one of them with the executions that occupy it. Empty: the gateway does not know
   * the worker.
   */
  statuses(workerId?: WorkerId): WorkerStatus[];
  close(): void;
}

export interface GatewayOptions {
  /** Its node is this gateway's incarnation. */
  bus: Bus;
  runtime: Runtime;
  log: Logger;
}

/** Listens on the bus from now on: make it before the scheduler says what it owns. */
export function createGateway(options: GatewayOptions): Gateway {
  return new WorkerGateway(options);
}

class WorkerGateway implements Gateway, LinkEvents {
  readonly counters = new Counters();
  readonly #bus: Bus;
  readonly #shared: Surroundings;
  readonly #fleet: Fleet;
  readonly #orders: Orders;
  readonly #links = new Set<Link>();
  readonly #stallWatch: StallWatch;
  readonly #endListening: () => void;
  #rollCalledAtMs: number;
  #timer: Timer;
  #recallTimer: Timer | null = null;
  #ackTimer: Timer | null = null;

  constructor({ bus, runtime, log }: GatewayOptions) {
    const { counters } = this;
    const owners = new Owners();
    const news = new News(bus, owners);
    let accounts = 0;
    const nextAccount = () => ++accounts;
    this.#bus = bus;
    const shared = { node: bus.node, runtime, log, owners, demands: new Demands(), news, counters, nextAccount };
    this.#shared = { ...shared, talk: new Talk(bus, runtime), failures: new FailedAttemptsLog(log, runtime) };
    this.#fleet = new Fleet(this.#shared);
    this.#orders = new Orders(this.#fleet, this.#shared);
    this.#rollCalledAtMs = runtime.monotonicMs();
    this.#stallWatch = new StallWatch(JUDGE_INTERVAL_MS, this.#rollCalledAtMs);
    this.#endListening = bus.listen("gateway", (envelopes) => this.#deliver(envelopes));
    this.#timer = runtime.setTimer(JUDGE_INTERVAL_MS, () => this.#tick());
  }

  connect(connection: WorkerConnection): ConnectedWorker {
    const link = new Link(connection, this.#shared.runtime.monotonicMs(), this);
    this.#links.add(link);
    if (this.#links.size > CONNECTIONS_MAX) {
      link.close("RESOURCE_EXHAUSTED", `this server takes ${CONNECTIONS_MAX} connections of workers and has them`);
    }
    return link;
  }

  load(): GatewayLoad {
    return loadOf(this.#fleet.all());
  }

  statuses(workerId?: WorkerId): WorkerStatus[] {
    return workerId === undefined ? this.#fleet.statuses() : this.#fleet.statusesOf(workerId);
  }

  drain(isDraining: boolean): void {
    this.#fleet.drainAll(isDraining);
    this.#settle();
  }

  close(): void {
    this.#fleet.stopLending();
    this.#timer.cancel();
    this.#recallTimer?.cancel();
    this.#ackTimer?.cancel();
    this.#fleet.sendAcks(Number.POSITIVE_INFINITY);
    this.#endListening();
    for (const link of this.#links) link.close("UNAVAILABLE", "the server is stopping");
  }

  greeted(link: Link, message: WorkerMessage): void {
    const greeting = readHello(message.hello, link.isInner);
    if ("code" in greeting) {
      this.#shared.log.warn({ code: greeting.code, detail: greeting.detail }, "the gateway refused a worker");
      return link.close(greeting.code, greeting.detail);
    }
    this.#fleet.attach(link, greeting);
    if (link.session !== null) this.#take(link.session, message);
  }

  received(link: Link, session: Session, message: WorkerMessage): void {
    if (message.hello !== undefined) return link.close("INVALID_ARGUMENT", "hello comes once, and first");
    this.#take(session, message);
  }

  ended(link: Link): void {
    this.#links.delete(link);
    this.#fleet.linkEnded(link);
  }

  #take(session: Session, message: WorkerMessage): void {
    this.#fleet.receive(session, message);
    this.#settle();
  }

  #deliver(envelopes: readonly Envelope<ToGateway>[]): void {
    for (const { from, message } of envelopes) this.#obey(from, message);
    this.#settle();
  }

  #settle(): void {
    this.#fleet.settle();
    if (this.#fleet.isAcking) this.#sendAcksSoon();
    if (!this.#fleet.isRecalling) return;
    this.#recallTimer ??= this.#shared.runtime.setTimer(RECALL_INTERVAL_MS, () => {
      this.#recallTimer = null;
      this.#fleet.recallAgain();
      this.#settle();
    });
  }

  #sendAcksSoon(): void {
    const { runtime } = this.#shared;
    this.#ackTimer ??= runtime.setTimer(ACKS_INTERVAL_MS, () => {
      this.#ackTimer = null;
      this.#fleet.sendAcks(runtime.monotonicMs() - ACKS_WAIT_MS);
      if (this.#fleet.isAcking) this.#sendAcksSoon();
    });
  }

  #obey(from: Incarnation, message: ToGateway): void {
    const { talk } = this.#shared;
    switch (message.kind) {
      case "LIST_WORKERS":
        return this.#tellWorkers(from, message.request, this.statuses(message.workerId));
      case "DRAIN_WORKER": {
        const drained = this.#fleet.drain(message.workerId);
        return this.#tellWorkers(from, message.request, drained === null ? [] : [drained]);
      }
      case "FOLLOW":
        return talk.follow(from, message.follows);
      case "UNFOLLOW":
        return talk.unfollow(from, message.executionIds);
      case "ASK_PROGRESS": {
        const { request, executionId } = message;
        const progress = talk.progressOf(executionId);
        return this.#bus.send({ node: from, role: "api" }, { kind: "PROGRESS", request, progress });
      }
      case "OWNER":
      case "ASSIGN":
      case "CANCEL":
      case "ACK":
      case "REFUSED":
      case "DEMAND":
      case "VOID":
      case "WHO":
      case "TAKE_BACK":
        return this.#orders.obey(from, message);
    }
  }

  #tellWorkers(node: Incarnation, request: string, workers: WorkerStatus[]): void {
    this.#bus.send({ node, role: "api" }, { kind: "WORKERS", request, workers });
  }

  #tick(): void {
    const nowMs = this.#shared.runtime.monotonicMs();
    if (this.#stallWatch.wasStalled(nowMs)) this.#forgive(nowMs);
    this.#fleet.judgeLiveness(nowMs);
    this.#endSilentLinks(nowMs);
    this.#fleet.sendSomeAway(nowMs);
    this.#fleet.chase(nowMs);
    if (nowMs - this.#rollCalledAtMs >= ROLL_INTERVAL_MS) {
      this.#rollCalledAtMs = nowMs;
      this.#fleet.callRoll();
      this.#shared.talk.forgetSilent();
    }
    this.#settle();
    this.#timer = this.#shared.runtime.setTimer(JUDGE_INTERVAL_MS, () => this.#tick());
  }

  #forgive(nowMs: number): void {
    this.#shared.log.warn("this process was held up; workers get their whole time again");
    this.#fleet.restart(nowMs);
    for (const link of this.#links) link.openedAtMs = nowMs;
  }

  #endSilentLinks(nowMs: number): void {
    for (const link of this.#links) {
      if (link.session !== null || nowMs - link.openedAtMs < HELLO_WITHIN_MS) continue;
      link.close("INVALID_ARGUMENT", `no hello came within ${HELLO_WITHIN_MS / 1_000} s`);
    }
  }
}
