import type { WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { ExecutionId, Incarnation, WorkerId } from "../domain/ids.ts";
import type { Bus, Envelope } from "../ports/bus.ts";
import { CountedWarnings } from "../ports/counted-warnings.ts";
import type { PolicyKeeper } from "../ports/handler-policies.ts";
import type { ToGateway, WorkerStatus } from "../ports/messages.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { TenantPools } from "../security/tenant-ring.ts";
import { AskedCancels } from "./asked-cancels.ts";
import type { ConnectedWorker, WorkerConnection } from "./connections/connection.ts";
import { readHello } from "./connections/hello.ts";
import { Link, type LinkEvents } from "./connections/link.ts";
import { Counters, type GatewayCounters } from "./counters.ts";
import { Demands } from "./credits/demands.ts";
import { FailedAttemptsLog } from "./failed-attempts-log.ts";
import {
  ACKS_INTERVAL_MS,
  ACKS_WAIT_MS,
  CONNECTIONS_MAX,
  FULL_SYNC_INTERVAL_MS,
  HELLO_WITHIN_MS,
  JUDGE_INTERVAL_MS,
  REVOKE_INTERVAL_MS,
} from "./limits.ts";
import { type GatewayLoad, loadOf } from "./load.ts";
import type { LogKeeper } from "./logs/log-keeper.ts";
import { Offers } from "./offers.ts";
import { OutputRelay } from "./output-relay.ts";
import { OwnerMessages } from "./owner-messages.ts";
import { OwnerReports } from "./owner-reports.ts";
import { Owners } from "./owners.ts";
import { Fleet } from "./sessions/fleet.ts";
import { StallWatch } from "./sessions/liveness.ts";
import type { GatewayContext, Session } from "./sessions/session.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** Holds the connections of its workers, and relays between workers and the owners of shards. */
export interface Gateway {
  readonly counters: GatewayCounters;
  /** Present load of the gateway's workers, for metrics. */
  load(): GatewayLoad;
  /** Takes a new connection. Its first message must be a hello. */
  connect(connection: WorkerConnection): ConnectedWorker;
  /**
   * true: the gateway allocates no more credit and sends its workers to other gateways, a few at a time; they keep
   * their running attempts. A worker that knows no other gateway and comes back finishes its attempts here. false: ends
   * the draining. Idempotent.
   */
  drain(isDraining: boolean): void;
  /**
   * Status of all workers of this gateway, or of one worker with the executions that occupy it. Empty: the gateway does
   * not know the worker.
   */
  statuses(workerId?: WorkerId): WorkerStatus[];
  /**
   * Tells the workers of all attempts of these executions to stop, as a client asked while the store did not answer. Their results go
   * the way of all results. Repeats are cheap.
   */
  stopAttempts(executionIds: ReadonlySet<ExecutionId>): void;
  /**
   * Closes every connection and stops listening on the bus. Workers keep their attempts and connect to the next server.
   */
  close(): void;
}

export interface GatewayOptions {
  /** Bus of the node, whose id is the gateway's incarnation. */
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  /** Left out: the gateway drops what tasks declare. */
  policies?: PolicyKeeper | undefined;
  /** Whether every node of the cluster understands records of handlers, and suspensions; default: they do. */
  takesSteps?: (() => boolean) | undefined;
  /** Left out: the gateway writes no events of workers. The caller stops it after the gateway. */
  workerEvents?: WorkerEvents | undefined;
  /** Called when a node has changed an API key; left out: the gateway knows no keys. */
  refreshKeys?: (() => Promise<void>) | undefined;
  /** Left out: there is only the tenant `default`, and every pool is shared. */
  tenants?: TenantPools | undefined;
  /** Left out: the gateway keeps no log lines of handlers. The caller stops it after the gateway. */
  logs?: LogKeeper | undefined;
}

const REFUSED_SOON = "the gateway takes a worker with a name that the next release refuses";

/** Creates a gateway, which listens on the bus from now on. It must exist before the scheduler announces its shards. */
export function createGateway(options: GatewayOptions): Gateway {
  return new WorkerGateway(options);
}

class WorkerGateway implements Gateway, LinkEvents {
  readonly counters = new Counters();
  readonly #bus: Bus;
  readonly #context: GatewayContext;
  readonly #fleet: Fleet;
  readonly #ownerMessages: OwnerMessages;
  readonly #links = new Set<Link>();
  readonly #policies: PolicyKeeper | null;
  readonly #logs: LogKeeper | null;
  readonly #refreshKeys: () => Promise<void>;
  readonly #stallWatch: StallWatch;
  readonly #warnings: CountedWarnings;
  readonly #askedCancels = new AskedCancels();
  readonly #endListening: () => void;
  #syncedAtMs: number;
  #timer: Timer;
  #revokeTimer: Timer | null = null;
  #ackTimer: Timer | null = null;

  constructor({
    bus,
    runtime,
    log,
    refreshKeys,
    policies,
    takesSteps = () => true,
    logs,
    workerEvents,
    tenants = { poolOf: (_tenant, name) => name, allowsPool: () => true },
  }: GatewayOptions) {
    const { counters } = this;
    const owners = new Owners();
    const reports = new OwnerReports(bus, owners);
    let accounts = 0;
    const nextAccount = () => ++accounts;
    this.#bus = bus;
    this.#policies = policies ?? null;
    this.#warnings = new CountedWarnings(log, runtime);
    this.#logs = logs ?? null;
    this.#refreshKeys = refreshKeys ?? (async () => undefined);
    const offers = new Offers();
    const context = {
      node: bus.node,
      runtime,
      log,
      owners,
      demands: new Demands(),
      reports,
      counters,
      nextAccount,
      offers,
      pools: tenants,
      workerEvents: workerEvents ?? null,
      takesSteps,
    };
    this.#context = {
      ...context,
      output: new OutputRelay(bus, runtime),
      failures: new FailedAttemptsLog(log, runtime),
    };
    this.#fleet = new Fleet(this.#context, this.#logs);
    this.#ownerMessages = new OwnerMessages(this.#fleet, this.#context);
    this.#syncedAtMs = runtime.monotonicMs();
    this.#stallWatch = new StallWatch(JUDGE_INTERVAL_MS, this.#syncedAtMs);
    this.#endListening = bus.listen("gateway", (envelopes) => this.#deliver(envelopes));
    this.#timer = runtime.setTimer(JUDGE_INTERVAL_MS, () => this.#tick());
  }

  connect(connection: WorkerConnection): ConnectedWorker {
    const link = new Link(connection, this.#context.runtime.monotonicMs(), this);
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

  stopAttempts(executionIds: ReadonlySet<ExecutionId>): void {
    for (const session of this.#askedCancels.tell(this.#fleet.all(), executionIds)) this.#fleet.markChanged(session);
    this.#settle();
  }

  close(): void {
    this.#fleet.stopAllocating();
    this.#timer.cancel();
    this.#revokeTimer?.cancel();
    this.#ackTimer?.cancel();
    this.#fleet.sendAcks(Number.POSITIVE_INFINITY);
    this.#endListening();
    for (const link of this.#links) link.close("UNAVAILABLE", "the server is stopping");
    this.#fleet.tellStop();
  }

  greeted(link: Link, message: WorkerMessage): void {
    const greeting = readHello(message.hello, link, this.#policies, this.#context.pools);
    if ("code" in greeting) {
      this.#context.log.warn(
        { code: greeting.code, detail: greeting.detail },
        "the gateway refused a worker's hello and closed its connection",
      );
      return link.close(greeting.code, greeting.detail);
    }
    this.#fleet.attach(link, greeting);
    if (link.session === null) return;
    const { profile, declared, warning } = greeting;
    if (warning !== null) this.#warnings.warn({ workerId: profile.workerId, warning }, REFUSED_SOON);
    if (declared !== null) this.#policies?.keep(declared.map((one) => ({ ...one, pool: profile.pool })));
    this.#take(link.session, message);
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
    for (const { from, message } of envelopes) this.#receive(from, message);
    this.#settle();
  }

  #settle(): void {
    this.#fleet.settle();
    if (this.#fleet.isAcking) this.#sendAcksSoon();
    if (!this.#fleet.isRevoking) return;
    this.#revokeTimer ??= this.#context.runtime.setTimer(REVOKE_INTERVAL_MS, () => {
      this.#revokeTimer = null;
      this.#fleet.revokeAgain();
      this.#settle();
    });
  }

  #sendAcksSoon(): void {
    const { runtime } = this.#context;
    this.#ackTimer ??= runtime.setTimer(ACKS_INTERVAL_MS, () => {
      this.#ackTimer = null;
      this.#fleet.sendAcks(runtime.monotonicMs() - ACKS_WAIT_MS);
      if (this.#fleet.isAcking) this.#sendAcksSoon();
    });
  }

  #receive(from: Incarnation, message: ToGateway): void {
    const { output } = this.#context;
    switch (message.kind) {
      case "LIST_WORKERS":
        return this.#tellWorkers(from, message.request, this.statuses(message.workerId));
      case "KEYS_CHANGED":
        return void this.#refreshKeys();
      case "LIST_HANDLERS": {
        const { request } = message;
        return this.#bus.send(
          { node: from, role: "api" },
          { kind: "HANDLERS", request, ...this.#context.offers.list() },
        );
      }
      case "DRAIN_WORKER": {
        const drained = this.#fleet.drain(message.workerId);
        return this.#tellWorkers(from, message.request, drained === null ? [] : [drained]);
      }
      case "FOLLOW":
        return output.follow(from, message.follows);
      case "UNFOLLOW":
        return output.unfollow(from, message.executionIds);
      case "ASK_PROGRESS": {
        const { request, executionId, tenant } = message;
        const progress = output.progressOf(executionId, tenant);
        return this.#bus.send({ node: from, role: "api" }, { kind: "PROGRESS", request, progress });
      }
      case "ASK_LOGS": {
        const { request, executionId, attempt, tenant } = message;
        const part = this.#logs?.partOf(executionId, attempt, tenant) ?? null;
        return this.#bus.send({ node: from, role: "api" }, { kind: "LOGS", request, part });
      }
      case "OWNER":
      case "ASSIGN":
      case "CANCEL":
      case "ACK":
      case "STEPPED":
      case "REFUSED":
      case "DEMAND":
      case "VOID":
      case "WHO":
      case "TAKE_BACK":
        return this.#ownerMessages.receive(from, message);
    }
  }

  #tellWorkers(node: Incarnation, request: string, workers: WorkerStatus[]): void {
    this.#bus.send({ node, role: "api" }, { kind: "WORKERS", request, workers });
  }

  #tick(): void {
    const nowMs = this.#context.runtime.monotonicMs();
    if (this.#stallWatch.wasStalled(nowMs)) this.#forgive(nowMs);
    this.#fleet.judgeLiveness(nowMs);
    this.#endSilentLinks(nowMs);
    this.#fleet.sendSomeAway(nowMs);
    this.#fleet.chase(nowMs);
    if (nowMs - this.#syncedAtMs >= FULL_SYNC_INTERVAL_MS) {
      this.#syncedAtMs = nowMs;
      this.#fleet.syncOwners();
      this.#context.output.forgetSilent();
      this.#fleet.pruneLogs();
    }
    this.#settle();
    this.#timer = this.#context.runtime.setTimer(JUDGE_INTERVAL_MS, () => this.#tick());
  }

  #forgive(nowMs: number): void {
    this.#context.log.warn(
      "the gateway's process was stalled; the gateway restarts the timers of its workers' silence",
    );
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
