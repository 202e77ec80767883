import { isOn } from "../domain/cluster/feature-level.ts";
import type { Candidate } from "../domain/execution.ts";
import type { Epoch, ShardId } from "../domain/ids.ts";
import type { TenantRecord } from "../domain/tenant.ts";
import { countEntries, oldestReadyAt } from "../engine/counts.ts";
import { explain, understoodReasons } from "../engine/explain.ts";
import { DEFAULT_LIMITS, type Input } from "../engine/inputs.ts";
import { liveExecution } from "../engine/live.ts";
import { currentDemand } from "../engine/queue/demand.ts";
import type { Envelope } from "../ports/bus.ts";
import type { LiveExecution, OwnedShard, ToScheduler } from "../ports/messages.ts";
import type { Readings, TakeoverCause } from "../ports/metrics.ts";
import type { Demand } from "../ports/share-messages.ts";
import type { Command } from "../ports/store-commands.ts";
import { CommitLoop, type CommitLoopDependencies } from "./commit-loop.ts";
import { OwnerAnnouncer } from "./ownership/owner-announcer.ts";
import { ShardOwnership, type ShardOwnershipDependencies, type Share } from "./ownership/shard-ownership.ts";
import { ShortLives } from "./ownership/short-lives.ts";
import { Payloads } from "./reading/payloads.ts";
import { PoolReader } from "./reading/pool-reader.ts";
import { References } from "./reading/references.ts";
import type { StoreClock } from "./store-clock.ts";
import { Watchers } from "./watchers.ts";
import { RecentStats } from "./watches/recent-stats.ts";

export type SchedulerDependencies = Omit<
  CommitLoopDependencies,
  "payloads" | "references" | "watchers" | "pools" | "aboutTenants"
> &
  Pick<ShardOwnershipDependencies, "leases" | "terms" | "profile"> & {
    clock: Pick<StoreClock, "onLeap">;
    /** Tenants, with a listener that hears of each change; left out: there is only `default`. */
    tenants?: FollowedTenants | undefined;
  };

interface FollowedTenants {
  onChange(changed: (tenants: ReadonlyMap<string, TenantRecord>) => void): void;
  /** Reads changes from the store. @throws {StoreUnavailable} */
  read(isWhole: boolean): Promise<void>;
}

/** Kinds of commands that are applied in the order of the inbox, not of their messages. */
const IN_ORDER: ReadonlySet<Command["kind"]> = new Set(["PLAN", "PAUSE_RUN", "RESUME_RUN"]);
const NONE: ReadonlyMap<ShardId, Epoch> = new Map();

/**
 * The scheduler role of a node: owns the shards that are placed on the node, and runs the machine that handles them.
 */
export class Scheduler {
  readonly #deps: CommitLoopDependencies;
  readonly #unlisten: () => void;
  readonly #stats: RecentStats;
  readonly #ownership: ShardOwnership;
  readonly #announcer: OwnerAnnouncer;
  /** Number of takeovers of each shard by this node. */
  readonly #takeovers = new Map<ShardId, number>();
  readonly #lives = new ShortLives();
  #runner: CommitLoop | null = null;
  #stopped = false;
  /** Tenants by name; empty: there is only `default`. */
  #tenants: ReadonlyMap<string, TenantRecord> = new Map();
  /** Whether every node keeps the limits of tenants. */
  #limitsTenants = false;

  constructor(deps: SchedulerDependencies) {
    const { bus, store, metrics, runtime } = deps;
    const pools = new PoolReader(store, (pools) => this.#runner?.take([{ kind: "POOLS", pools }]));
    const references = new References(store, runtime);
    this.#stats = new RecentStats(runtime);
    deps.tenants?.onChange((tenants) => {
      this.#tenants = tenants;
      this.#runner?.take(this.#aboutTenants());
    });
    this.#deps = {
      ...deps,
      metrics: this.#stats.beside(metrics),
      payloads: new Payloads(store, references),
      references,
      watchers: new Watchers(bus),
      pools,
      aboutTenants: () => this.#aboutTenants(),
    };
    this.#unlisten = bus.listen("scheduler", (messages) => this.#receive(messages));
    deps.clock.onLeap((byMs) => this.#runner?.take([{ kind: "LEAPT", byMs }]));
    deps.zones.listen(() => this.#runner?.followChangeovers());
    this.#announcer = new OwnerAnnouncer(bus, runtime, () => this.#beforeAnnouncement());
    // Limits of tenants hold from the first assignment, as those of pools do.
    const readPools = async () => void (await Promise.all([pools.read(), deps.tenants?.read(false)]));
    this.#ownership = new ShardOwnership({ ...deps, readPools, machine: this.#machine() });
    metrics.watch(() => this.#readings());
    store.watchTakeovers(() => this.#lost("CONNECTION_LOST", "the connection that shards were taken over on ended"));
  }

  /** Resolves with the reason when this node can own nothing any more, because another server uses the store. */
  get failed(): Promise<Error> {
    return this.#ownership.failed;
  }

  /** Shards that the node owns now, with their epochs. */
  get owned(): ReadonlyMap<ShardId, Epoch> {
    return this.#runner?.state.epochs ?? NONE;
  }

  /** Number of shards that are placed on the node, and how many of them it has. */
  get share(): Share {
    return this.#ownership.share;
  }

  /**
   * Resolves when the node has taken over the free shards that are placed on it. If it loses shards later, it takes
   * them over again by itself.
   * @throws {StoreUnusable} another server uses the store
   */
  start(): Promise<void> {
    return this.#ownership.start();
  }

  /** Commits the inputs so far, then releases the shards. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#runner?.settled();
    this.#endRunner();
    this.#announcer.stop();
    await this.#ownership.stop();
    this.#unlisten();
  }

  /** Operations of `ShardOwnership` on the machine. */
  #machine(): ShardOwnershipDependencies["machine"] {
    return {
      has: () => this.#runner?.state.epochs ?? NONE,
      own: (owned) => {
        if (this.#stopped) return;
        this.#followLevel();
        if (this.#runner === null) this.#lives.started(this.#deps.runtime.monotonicMs());
        this.#runner ??= this.#newRunner();
        this.#runner.own(owned);
        for (const shard of owned.epochs.keys()) this.#takeovers.set(shard, (this.#takeovers.get(shard) ?? 0) + 1);
        this.#announce();
      },
      gatewaysChanged: () => this.#lookAround(),
      releaseShards: async (shards) => {
        const isDone = (await this.#runner?.releaseShards(shards)) ?? false;
        if (this.#runner?.state.epochs.size === 0) this.#endRunner();
        this.#announce();
        return isDone;
      },
      drop: (reason) => this.#lost("LEASE_ENDED", reason),
    };
  }

  #newRunner(): CommitLoop {
    this.#deps.references.forget();
    return new CommitLoop(this.#deps, {
      lost: (cause, reason) => this.#lost(cause, reason),
      fenced: (shards) => {
        this.#ownership.fenced(shards);
        // A machine without shards must end, because gateways have closed its accounts.
        if (this.#runner?.state.epochs.size === 0) this.#lost("FENCED", "every shard has another owner");
        else this.#announce();
      },
      demand: (demand) => this.#announcer.demand(demand),
      trusted: () => this.#ownership.trusted,
    });
  }

  #announce(): void {
    const { term = 0, life = 0, epochs = NONE } = this.#runner?.state ?? {};
    this.#announcer.announce(term, life, ownedShards(epochs));
  }

  #lookAround(): void {
    this.#runner?.take([{ kind: "GATEWAYS", nodes: this.#ownership.gateways }]);
  }

  /** @returns the demand for the announcement */
  #beforeAnnouncement(): Demand[] {
    this.#followLevel();
    this.#lookAround();
    this.#tellShares();
    return this.#runner === null ? [] : currentDemand({ state: this.#runner.state });
  }

  /** Tells the other schedulers how many attempts each tenant has, if any of them knows of a second tenant. */
  #tellShares(): void {
    const { bus, runtime } = this.#deps;
    if (this.#runner === null || !isOn("TENANT_SHARES", this.#ownership.level)) return;
    const shares = this.#runner.state.shares.report(runtime.now());
    if (shares === null) return;
    for (const node of bus.nodes("scheduler")) {
      if (node !== bus.node) bus.send({ node, role: "scheduler" }, { kind: "SHARES", shares });
    }
  }

  #aboutTenants(): Input[] {
    return this.#tenants.size === 0 ? [] : inputsAbout(this.#tenants, this.#limitsTenants);
  }

  /** Notes whether every node keeps the limits of tenants, and starts or ends to keep them. */
  #followLevel(): void {
    const isKept = isOn("TENANT_LIMITS", this.#ownership.level);
    if (isKept === this.#limitsTenants) return;
    this.#limitsTenants = isKept;
    this.#runner?.take(this.#aboutTenants());
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
    const { log, metrics } = this.#deps;
    log.warn({ cause, reason }, "the node dropped its shards and takes them over again");
    metrics.takeover(cause);
    this.#endRunner();
    if (!this.#stopped) this.#ownership.lookAgain(this.#lives.died(this.#deps.runtime.monotonicMs()));
  }

  #receive(envelopes: readonly Envelope<ToScheduler>[]): void {
    const inputs: Input[] = [];
    for (const { from, message } of envelopes) this.#take(from, message, inputs);
    if (inputs.length > 0) this.#runner?.take(inputs);
  }

  #take(from: string, message: ToScheduler, inputs: Input[]): void {
    const { watchers, payloads } = this.#deps;
    switch (message.kind) {
      case "HINT":
        payloads.keep(message.rows, this.#deps.runtime.now() + DEFAULT_LIMITS.horizonMs);
        inputs.push({ kind: "HINTED", rows: message.rows.map(({ row }) => row) });
        this.#runner?.hear(message.rows.map(({ row }) => row));
        break;
      case "PLANNED":
        inputs.push(message);
        break;
      case "COMMAND":
        if (IN_ORDER.has(message.command.kind)) this.#runner?.lookForCommands();
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
      case "SHARES":
        inputs.push({ kind: "SHARES", from, shares: message.shares });
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
      case "STEPS":
        inputs.push({ kind: "GATEWAY", from, message });
    }
  }

  #tell(node: string, request: string): void {
    const ownedShards = this.#runner?.state.epochs.size ?? 0;
    const tally = {
      ownedShards,
      lateness: this.#stats.lateness(),
      finished: this.#stats.finished(),
      planned: this.#stats.planned(),
      oldestReadyAt: this.#runner === null ? null : oldestReadyAt(this.#runner.state),
    };
    this.#deps.bus.send({ node, role: "api" }, { kind: "TALLY", request, tally });
  }

  #tellPools(node: string, request: string): void {
    const pools = this.#runner?.state.permits.uses(this.#deps.runtime.now()) ?? [];
    this.#deps.bus.send({ node, role: "api" }, { kind: "POOLS_USED", request, pools });
  }

  /**
   * Applies the pools' settings for an api. There is no answer while no machine exists or if the machine ends
   * meanwhile, because its unanswered commit may still take effect. The api then asks again.
   */
  async #applyPools(node: string, request: string): Promise<void> {
    const { bus, log, pools } = this.#deps;
    try {
      await pools.refresh();
    } catch (error) {
      return log.warn({ err: error }, "scheduler: settings of pools could not be read; the api asks again");
    }
    const runner = this.#runner;
    const shards = ownedShards(runner?.state.epochs ?? NONE);
    if (await runner?.settled()) bus.send({ node, role: "api" }, { kind: "POOLS_APPLIED", request, shards });
  }

  /**
   * Answers why an execution waits. Sends nothing if this node does not own the shard, because the asking api can judge
   * the row itself.
   */
  #explain(node: string, request: string, row: Candidate): void {
    if (!this.#runner?.state.epochs.has(row.shard)) return;
    const known = explain(this.#runner.state, row, this.#deps.runtime.now());
    const reasons = understoodReasons(known, this.#ownership.level);
    this.#deps.bus.send({ node, role: "api" }, { kind: "EXPLAINED", request, reasons });
  }

  #answer(node: string, request: string, ids: readonly string[]): void {
    const executions: LiveExecution[] = [];
    for (const id of ids) {
      const live = this.#runner === null ? null : liveExecution(this.#runner.state, id);
      if (live !== null) executions.push(live);
    }
    this.#deps.bus.send({ node, role: "api" }, { kind: "LIVE", request, executions });
  }
}

function ownedShards(epochs: ReadonlyMap<ShardId, Epoch>): OwnedShard[] {
  return Array.from(epochs, ([shard, epoch]) => ({ shard, epoch }));
}

function byShard(figures: ReadonlyMap<ShardId, number>): Map<string, number> {
  return new Map(Array.from(figures, ([shard, figure]) => [String(shard), figure]));
}

/**
 * Inputs that tell the machine what tenants are suspended or being deleted, which weights they have, and the limits.
 * @param isLimited whether the limits are kept
 */
function inputsAbout(tenants: ReadonlyMap<string, TenantRecord>, isLimited: boolean): Input[] {
  const all = [...tenants.values()];
  const stopped = all.filter(({ state }) => state !== "ACTIVE").map(({ name }) => name);
  return [
    { kind: "STOPPED", tenants: new Set(stopped) },
    { kind: "WEIGHTS", weights: new Map(all.map(({ name, weight }) => [name, weight])) },
    { kind: "TENANT_LIMITS", limits: isLimited ? limitsOf(all) : new Map() },
  ];
}

function limitsOf(tenants: readonly TenantRecord[]): Map<string, number> {
  return new Map(tenants.flatMap(({ name, maxRunning }) => (maxRunning === null ? [] : [[name, maxRunning]])));
}
