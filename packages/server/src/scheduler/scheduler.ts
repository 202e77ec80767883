import type { Candidate } from "../domain/execution.ts";
import type { Epoch, ShardId } from "../domain/ids.ts";
import { countEntries, oldestReadyAt } from "../engine/counts.ts";
import { explain, understoodReasons } from "../engine/explain.ts";
import { DEFAULT_LIMITS, type Input } from "../engine/inputs.ts";
import { liveExecution } from "../engine/live.ts";
import { currentDemand } from "../engine/queue/demand.ts";
import type { Envelope } from "../ports/bus.ts";
import type { Demand, LiveExecution, OwnedShard, ToScheduler } from "../ports/messages.ts";
import type { Readings, TakeoverCause } from "../ports/metrics.ts";
import { Herald } from "./ownership/herald.ts";
import { Holdings, type HoldingsParts, type Share } from "./ownership/holdings.ts";
import { ShortLives } from "./ownership/short-lives.ts";
import { Payloads } from "./reading/payloads.ts";
import { PoolReader } from "./reading/pool-reader.ts";
import { type RunnerParts, ShardRunner } from "./shard-runner.ts";
import type { StoreClock } from "./store-clock.ts";
import { Watchers } from "./watchers.ts";
import { TallyBook } from "./watches/tally.ts";

export type SchedulerParts = Omit<RunnerParts, "payloads" | "watchers" | "pools"> &
  Pick<HoldingsParts, "leases" | "terms" | "profile"> & { clock: Pick<StoreClock, "onLeap"> };

const NONE: ReadonlyMap<ShardId, Epoch> = new Map();

/** The scheduler role of a node: owns the shards that are placed on it, and drives the machine that holds them. */
export class Scheduler {
  readonly #parts: RunnerParts;
  readonly #unlisten: () => void;
  readonly #tally: TallyBook;
  readonly #holdings: Holdings;
  readonly #herald: Herald;
  /** How often each shard was taken over here. */
  readonly #takeovers = new Map<ShardId, number>();
  readonly #lives = new ShortLives();
  #runner: ShardRunner | null = null;
  #stopped = false;

  constructor(parts: SchedulerParts) {
    const { bus, store, metrics, runtime } = parts;
    const pools = new PoolReader(store, (pools) => this.#runner?.take([{ kind: "POOLS", pools }]));
    this.#tally = new TallyBook(runtime);
    this.#parts = {
      ...parts,
      metrics: this.#tally.beside(metrics),
      payloads: new Payloads(store),
      watchers: new Watchers(bus),
      pools,
    };
    this.#unlisten = bus.listen("scheduler", (messages) => this.#receive(messages));
    parts.clock.onLeap((byMs) => this.#runner?.take([{ kind: "LEAPT", byMs }]));
    parts.zones.listen(() => this.#runner?.followChangeovers());
    this.#herald = new Herald(bus, runtime, () => this.#beforeAnnouncement());
    this.#holdings = new Holdings({ ...parts, readPools: () => pools.read(), machine: this.#machine() });
    metrics.watch(() => this.#readings());
    store.watchTakeovers(() => this.#lost("CONNECTION_LOST", "the connection that shards were taken over on ended"));
  }

  /** Resolves with the reason when this node cannot own anything any more: another server has the store. */
  get failed(): Promise<Error> {
    return this.#holdings.failed;
  }

  /** Shards that the node has of those placed on it. */
  get share(): Share {
    return this.#holdings.share;
  }

  /**
   * Resolves when the node has what is placed on it and free. Losing it later leads to another takeover by itself.
   * @throws {StoreUnusable} another server has the store
   */
  start(): Promise<void> {
    return this.#holdings.start();
  }

  /** Commits what has come in, then lets go. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#runner?.settled();
    this.#endRunner();
    this.#herald.stop();
    await this.#holdings.stop();
    this.#unlisten();
  }

  /** Operations of `Holdings` on the machine. */
  #machine(): HoldingsParts["machine"] {
    return {
      has: () => this.#runner?.state.epochs ?? NONE,
      own: (owned) => {
        if (this.#stopped) return;
        if (this.#runner === null) this.#lives.born(this.#parts.runtime.monotonicMs());
        this.#runner ??= this.#newRunner();
        this.#runner.own(owned);
        for (const shard of owned.epochs.keys()) this.#takeovers.set(shard, (this.#takeovers.get(shard) ?? 0) + 1);
        this.#announce();
      },
      gatewaysChanged: () => this.#lookAround(),
      letGo: async (shards) => {
        const isDone = (await this.#runner?.letGo(shards)) ?? false;
        if (this.#runner?.state.epochs.size === 0) this.#endRunner();
        this.#announce();
        return isDone;
      },
      drop: (reason) => this.#lost("LEASE_ENDED", reason),
    };
  }

  #newRunner(): ShardRunner {
    return new ShardRunner(this.#parts, {
      lost: (cause, reason) => this.#lost(cause, reason),
      fenced: (shards) => {
        this.#holdings.fenced(shards);
        // A machine without shards would go on with accounts that gateways have closed.
        if (this.#runner?.state.epochs.size === 0) this.#lost("FENCED", "every shard has another owner");
        else this.#announce();
      },
      demand: (demand) => this.#herald.demand(demand),
      trusted: () => this.#holdings.trusted,
    });
  }

  #announce(): void {
    const { term = 0, life = 0, epochs = NONE } = this.#runner?.state ?? {};
    this.#herald.announce(term, life, ownedShards(epochs));
  }

  #lookAround(): void {
    this.#runner?.take([{ kind: "GATEWAYS", nodes: this.#holdings.gateways }]);
  }

  /** @returns the demand that the announcement tells */
  #beforeAnnouncement(): Demand[] {
    this.#lookAround();
    return this.#runner === null ? [] : currentDemand({ state: this.#runner.state });
  }

  #endRunner(): void {
    this.#runner?.stop();
    this.#runner = null;
    this.#announce();
  }

  #readings(): Readings {
    const state = this.#runner?.state;
    const none = new Map<string, number>();
    const ever = { shardTakeovers: byShard(this.#takeovers) };
    const byPool = { ready: none, assigned: none, running: none };
    const byNumber = { shardEpoch: none, shardReady: none, shardRunning: none };
    if (state === undefined) return { waiting: 0, ...byPool, ...byNumber, ownedShards: 0, ...ever };
    return { ...countEntries(state), shardEpoch: byShard(state.epochs), ownedShards: state.epochs.size, ...ever };
  }

  #lost(cause: TakeoverCause, reason: string): void {
    if (this.#runner === null) return;
    const { log, metrics } = this.#parts;
    log.warn({ cause, reason }, "the node dropped its shards and takes them over again");
    metrics.takeover(cause);
    this.#endRunner();
    if (!this.#stopped) this.#holdings.lookAgain(this.#lives.died(this.#parts.runtime.monotonicMs()));
  }

  #receive(envelopes: readonly Envelope<ToScheduler>[]): void {
    const inputs: Input[] = [];
    for (const { from, message } of envelopes) this.#take(from, message, inputs);
    if (inputs.length > 0) this.#runner?.take(inputs);
  }

  #take(from: string, message: ToScheduler, inputs: Input[]): void {
    const { watchers, payloads } = this.#parts;
    switch (message.kind) {
      case "HINT":
        payloads.keep(message.rows, this.#parts.runtime.now() + DEFAULT_LIMITS.horizonMs);
        inputs.push({ kind: "HINTED", rows: message.rows.map(({ row }) => row) });
        break;
      case "PLANNED":
        inputs.push(message);
        break;
      case "COMMAND":
        if (message.command.kind === "PLAN") this.#runner?.lookForCommands();
        else inputs.push({ kind: "COMMANDS", commands: [message.command] });
        break;
      case "ASK":
        this.#answer(from, message.request, message.executionIds);
        break;
      case "ASK_TALLY":
        this.#tell(from, message.request);
        break;
      case "EXPLAIN":
        this.#explain(from, message.request, message.row);
        break;
      case "PERMIT_CALL":
      case "PERMITS":
        inputs.push({ kind: "PERMIT", from, message });
        break;
      case "ASK_POOLS":
        this.#tellPools(from, message.request);
        break;
      case "APPLY_POOLS":
        void this.#applyPools(from, message.request);
        break;
      case "WATCH":
        watchers.watch(message.executionId, from);
        break;
      case "UNWATCH":
        watchers.unwatch(message.executionId, from);
        break;
      case "WORKER_UP":
      case "ABSENT":
      case "WORKER_LOST":
      case "WORKER_DRAINING":
      case "CREDITS":
      case "RECALL":
      case "STARTED":
      case "FINISHED":
        inputs.push({ kind: "GATEWAY", from, message });
    }
  }

  #tell(node: string, request: string): void {
    const ownedShards = this.#runner?.state.epochs.size ?? 0;
    const tally = {
      ownedShards,
      lateness: this.#tally.lateness(),
      finished: this.#tally.finished(),
      planned: this.#tally.planned(),
      oldestReadyAt: this.#runner === null ? null : oldestReadyAt(this.#runner.state),
    };
    this.#parts.bus.send({ node, role: "api" }, { kind: "TALLY", request, tally });
  }

  #tellPools(node: string, request: string): void {
    const pools = this.#runner?.state.permits.uses(this.#parts.runtime.now()) ?? [];
    this.#parts.bus.send({ node, role: "api" }, { kind: "POOLS_USED", request, pools });
  }

  /**
   * Silent until there is a machine, and if the machine ends meanwhile: a commit of its that was not answered may still take
   * effect. The api asks again.
   */
  async #applyPools(node: string, request: string): Promise<void> {
    const { bus, log, pools } = this.#parts;
    try {
      await pools.refresh();
    } catch (error) {
      return log.warn({ err: error }, "scheduler: settings of pools could not be read; the api asks again");
    }
    const runner = this.#runner;
    const shards = ownedShards(runner?.state.epochs ?? NONE);
    if (await runner?.settled()) bus.send({ node, role: "api" }, { kind: "POOLS_APPLIED", request, shards });
  }

  /** Silent where the shard is not owned: a row alone is better judged by whoever asks. */
  #explain(node: string, request: string, row: Candidate): void {
    if (!this.#runner?.state.epochs.has(row.shard)) return;
    const known = explain(this.#runner.state, row, this.#parts.runtime.now());
    const reasons = understoodReasons(known, this.#holdings.level);
    this.#parts.bus.send({ node, role: "api" }, { kind: "EXPLAINED", request, reasons });
  }

  #answer(node: string, request: string, ids: readonly string[]): void {
    const executions: LiveExecution[] = [];
    for (const id of ids) {
      const live = this.#runner === null ? null : liveExecution(this.#runner.state, id);
      if (live !== null) executions.push(live);
    }
    this.#parts.bus.send({ node, role: "api" }, { kind: "LIVE", request, executions });
  }
}

function ownedShards(epochs: ReadonlyMap<ShardId, Epoch>): OwnedShard[] {
  return Array.from(epochs, ([shard, epoch]) => ({ shard, epoch }));
}

function byShard(figures: ReadonlyMap<ShardId, number>): Map<string, number> {
  return new Map(Array.from(figures, ([shard, figure]) => [String(shard), figure]));
}
