import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Assign, PROTOCOL_VERSION, type ServerMessage, type Token, WorkerMessageSchema } from "@mainspring/proto";
import pino from "pino";
import { type Incarnation, SHARD_COUNT } from "../domain/ids.ts";
import type { Principal } from "../ports/authenticator.ts";
import type { Bus, Envelope, Mail, Receiver } from "../ports/bus.ts";
import type { PolicyKeeper } from "../ports/handler-policies.ts";
import type { Assignment, Credit, FromGateway, ToApi, ToGateway } from "../ports/messages.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { Demand } from "../ports/share-messages.ts";
import type { TenantPools } from "../security/tenant-ring.ts";
import type { ConnectedWorker, ConnectionRefusal } from "./connections/connection.ts";
import { createGateway, type Gateway } from "./gateway.ts";
import type { LogKeeper } from "./logs/log-keeper.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** A gateway between simulated owners and workers, on a clock that the test moves. */

export const NODE: Incarnation = "node-1";
const START_MS = 1_750_000_000_000;

export class ManualRuntime implements Runtime {
  #nowMs = 0;
  #timers: { atMs: number; run: () => void }[] = [];
  #ids = 0;

  now = (): number => START_MS + this.#nowMs;
  monotonicMs = (): number => this.#nowMs;
  random = (): number => 0.5;
  uuid = (): string => executionId(++this.#ids);

  setTimer(delayMs: number, run: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Moves the clock, and runs every timer when it is due. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.run();
    }
    this.#nowMs = untilMs;
  }

  /** Moves the clock without running timers, as if the process were stalled: they run late. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }
}

const ALL_SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

type Sent = { [R in Receiver]: { node: Incarnation; role: R; message: Mail[R] } }[Receiver];

class RecordingBus implements Bus {
  readonly node: Incarnation;
  sent: Sent[] = [];
  #receive: ((messages: readonly Envelope<ToGateway>[]) => void) | null = null;
  #watchers: ((sent: Sent) => void)[] = [];

  constructor(node: Incarnation) {
    this.node = node;
  }

  ownerOf = (): null => null;
  nodes = (): Incarnation[] => [];
  connected = (): Incarnation[] => [this.node];

  send<R extends Receiver>(to: { node: Incarnation; role: R }, message: Mail[R]): void {
    const sent = { ...to, message } as Sent;
    this.sent.push(sent);
    for (const watch of this.#watchers) watch(sent);
  }

  /** Resolves with the next message to an owner that matches. */
  nextReport(isWanted: (message: FromGateway) => boolean): Promise<FromGateway> {
    return new Promise((resolve) => {
      this.#watchers.push(({ role, message }) => {
        if (role === "scheduler" && isWanted(message as FromGateway)) resolve(message as FromGateway);
      });
    });
  }

  listen<R extends Receiver>(_role: R, receive: (messages: readonly Envelope<Mail[R]>[]) => void): () => void {
    this.#receive = receive as unknown as (messages: readonly Envelope<ToGateway>[]) => void;
    return () => {
      this.#receive = null;
    };
  }

  deliver(from: Incarnation, messages: readonly ToGateway[]): void {
    this.#receive?.(messages.map((message) => ({ from, message })));
  }
}

type HelloInit = NonNullable<MessageInitShape<typeof WorkerMessageSchema>["hello"]>;

/** The worker's end of a connection. */
export class WorkerEnd {
  received: ServerMessage[] = [];
  closedWith: { code: ConnectionRefusal; detail: string } | null = null;
  congested = false;
  readonly #worker: ConnectedWorker;

  /** @param principal caller whose key the worker has shown; left out: none */
  constructor(gateway: Gateway, principal: Principal | null = null) {
    this.#worker = gateway.connect({
      principal,
      send: (message) => this.received.push(message),
      close: (code, detail) => {
        this.closedWith = { code, detail };
      },
      isCongested: () => this.congested,
    });
  }

  say(message: MessageInitShape<typeof WorkerMessageSchema>): void {
    this.#worker.receive(create(WorkerMessageSchema, message));
  }

  hello(hello: HelloInit = {}): this {
    this.say({ hello: { ...HELLO, ...hello } as HelloInit });
    return this;
  }

  start(...assigns: Assign[]): void {
    this.say({ started: assigns.map(({ token }) => ({ token: token as Token, startedAtMs: BigInt(START_MS) })) });
  }

  finish(...assigns: Assign[]): void {
    this.say({ finished: assigns.map(({ token }) => ({ token: token as Token, outcome: 1 })) });
  }

  heartbeat(): void {
    this.say({ heartbeat: { running: 0, loopLagMs: 3 } });
  }

  breakOff(): void {
    this.#worker.closed();
  }

  get assigns(): Assign[] {
    return this.received.flatMap((message) => message.assigns);
  }
}

const HELLO = {
  protocolVersion: PROTOCOL_VERSION,
  workerId: "worker-1",
  name: "a worker",
  pool: "default",
  handlers: ["echo"],
  slots: 2,
  prefetch: 1,
};

export class Stage {
  readonly runtime: ManualRuntime;
  readonly bus: RecordingBus;
  readonly gateway: Gateway;
  /** Lines of the gateway's log, as JSON. */
  readonly logged: string[] = [];

  /**
   * @param runtime the one of another stage, if a test uses two
   * @param policies left out: the gateway keeps none
   * @param takesSteps whether every node understands records of handlers; default: they do
   * @param logs left out: the gateway keeps none
   * @param workerEvents left out: the gateway writes none
   * @param tenants left out: there is only the tenant `default`
   */
  constructor(
    node: Incarnation = NODE,
    runtime = new ManualRuntime(),
    policies?: PolicyKeeper,
    takesSteps?: () => boolean,
    logs?: LogKeeper,
    workerEvents?: WorkerEvents,
    tenants?: TenantPools,
  ) {
    this.runtime = runtime;
    this.bus = new RecordingBus(node);
    this.gateway = createGateway({
      bus: this.bus,
      runtime,
      log: pino({ level: "info" }, { write: (line) => void this.logged.push(line) }),
      policies,
      takesSteps,
      logs,
      workerEvents,
      tenants,
    });
  }

  /** Announces that `from` owns these shards, by default all, under this epoch, which is also its term. */
  own(from: Incarnation = NODE, epoch = 1, shards = ALL_SHARDS, demand: Demand[] = []): void {
    const owned = shards.map((shard) => ({ shard, epoch }));
    this.bus.deliver(from, [{ kind: "OWNER", term: epoch, life: epoch, shards: owned, demand }]);
  }

  /** Announces an owner's waiting work in the worker's pool. @param rank null: no work waits */
  demand(from: Incarnation, rank: number | null): void {
    const demand = rank === null ? [] : [{ pool: "default", rank }];
    this.bus.deliver(from, [{ kind: "DEMAND", term: 1, demand }]);
  }

  /** @param principal caller whose key the worker has shown; left out: none */
  connect(principal: Principal | null = null): WorkerEnd {
    return new WorkerEnd(this.gateway, principal);
  }

  assign(...assigns: Assignment[]): void {
    this.assignFrom(NODE, ...assigns);
  }

  assignFrom(from: Incarnation, ...assigns: Assignment[]): void {
    this.bus.deliver(from, [{ kind: "ASSIGN", assigns }]);
  }

  /** Messages to the owner since the last call. */
  reports(node: Incarnation = NODE): FromGateway[] {
    const reports = this.bus.sent.filter((sent) => sent.role === "scheduler" && sent.node === node);
    this.bus.sent = this.bus.sent.filter((sent) => !reports.includes(sent));
    return reports.map((sent) => sent.message as FromGateway);
  }

  reportsOf<K extends FromGateway["kind"]>(kind: K, node: Incarnation = NODE): Extract<FromGateway, { kind: K }>[] {
    return this.reports(node).filter((message) => message.kind === kind) as Extract<FromGateway, { kind: K }>[];
  }

  /** Messages about credits, without the full sync. */
  credits(node: Incarnation = NODE): Credit[] {
    return this.reportsOf("CREDITS", node).flatMap(({ roll, credits }) => (roll ? [] : credits));
  }

  answers(): ToApi[] {
    return this.bus.sent.filter((sent) => sent.role === "api").map((sent) => sent.message as ToApi);
  }

  /** Drops all messages to owners so far. */
  forgetReports(): void {
    this.bus.sent = [];
  }
}

/** A server that owns all shards, and a worker with two slots and a prefetch of one. */
export function stageWithWorker(): { stage: Stage; worker: WorkerEnd } {
  const stage = new Stage();
  stage.own();
  const worker = stage.connect().hello();
  return { stage, worker };
}

export function executionId(n: number): string {
  return `01976e5f-5c00-7000-8000-${String(n).padStart(12, "0")}`;
}

/** The n-th assignment to the worker. */
export function assignment(n: number, changes: Partial<Assignment> = {}): Assignment {
  return {
    shard: n % SHARD_COUNT,
    executionId: executionId(n),
    attempt: 1,
    epoch: 1,
    workerId: "worker-1",
    gateway: NODE,
    account: 1,
    credit: n,
    handler: "echo",
    payload: null,
    payloadBytes: 0,
    timeoutMs: 60_000,
    cancelGraceMs: 10_000,
    failures: 0,
    maxAttempts: 5,
    scheduledAt: START_MS,
    ...changes,
  };
}

export function tokenOf({ shard, executionId, attempt }: Assignment): {
  shard: number;
  executionId: string;
  attempt: number;
} {
  return { shard, executionId, attempt };
}

/** Hold of the n-th execution in a hello. */
export function held(n: number, shard = n): { token: ReturnType<typeof tokenOf> } {
  return { token: { ...tokenOf(assignment(n)), shard } };
}

/** Credit for slots of the worker that were allocated and are not used yet. */
export function credit(granted: number, changes: Partial<Credit> = {}): Credit {
  return { workerId: "worker-1", account: 1, granted, highest: 0, missing: [], ...changes };
}
