import {
  type EpochMs,
  invariant,
  type Pool,
  type RowChange,
  SHARD_COUNT,
  type ShardHolder,
  type ShardId,
} from "@mainspring/server/testing";
import { CommandInbox } from "./command-inbox.ts";
import type { StoredRun } from "./dead-letters.ts";
import { ExecutionTable } from "./execution-table.ts";
import type { StoreEvent } from "./history.ts";
import { JobTable } from "./job-table.ts";
import { IdempotencyKeys, JobNames, UniqueKeys } from "./keys.ts";
import { OnTheWay } from "./on-the-way.ts";
import { PlanTable } from "./plan-table.ts";
import { recover } from "./reads.ts";
import { ShardState } from "./shard-state.ts";
import type { StoredZones } from "./time-zones.ts";

/** Everything that the store keeps. */
export interface Tables {
  jobs: JobTable;
  executions: ExecutionTable;
  plans: PlanTable;
  uniqueKeys: UniqueKeys;
  jobNames: JobNames;
  idempotencyKeys: IdempotencyKeys;
  commands: CommandInbox;
  zones: StoredZones;
  pools: Map<string, Pool>;
  deadLetterRuns: Map<string, StoredRun>;
  shards: readonly ShardState[];
}

export interface StoreDataOptions {
  /** The store's own clock. */
  now: () => EpochMs;
  /** Data that the store will not hold, beyond what its columns cannot: says why, or null. Must be the same each time. */
  refuses?: (change: RowChange) => string | null;
}

/**
 * The truth of a simulated store: tables and what was told of their changes. Nothing here waits, so whatever is done to
 * it by one call is atomic. The operations are the functions beside it (submit.ts, commit.ts, …).
 */
export class StoreData {
  readonly now: () => EpochMs;
  readonly refuses: (change: RowChange) => string | null;
  #tables: Tables = {
    jobs: new JobTable(),
    executions: new ExecutionTable(),
    plans: new PlanTable(),
    uniqueKeys: new UniqueKeys(),
    jobNames: new JobNames(),
    idempotencyKeys: new IdempotencyKeys(),
    commands: new CommandInbox(),
    zones: { changeovers: [], versions: new Map() },
    pools: new Map(),
    deadLetterRuns: new Map(),
    shards: Array.from({ length: SHARD_COUNT }, () => new ShardState()),
  };
  /** How often the store went back to an earlier state. */
  timeline = 0;
  /** Calls that have been sent and have not taken effect. */
  readonly onTheWay = new OnTheWay();
  readonly #listeners: ((event: StoreEvent) => void)[] = [];
  #commits = 0;

  constructor({ now, refuses = () => null }: StoreDataOptions) {
    this.now = now;
    this.refuses = refuses;
  }

  get jobs(): JobTable {
    return this.#tables.jobs;
  }

  get executions(): ExecutionTable {
    return this.#tables.executions;
  }

  get plans(): PlanTable {
    return this.#tables.plans;
  }

  get uniqueKeys(): UniqueKeys {
    return this.#tables.uniqueKeys;
  }

  get jobNames(): JobNames {
    return this.#tables.jobNames;
  }

  get idempotencyKeys(): IdempotencyKeys {
    return this.#tables.idempotencyKeys;
  }

  get commands(): CommandInbox {
    return this.#tables.commands;
  }

  get zones(): StoredZones {
    return this.#tables.zones;
  }

  /** Pools that have settings of their own, by name. */
  get pools(): Map<string, Pool> {
    return this.#tables.pools;
  }

  get deadLetterRuns(): Map<string, StoredRun> {
    return this.#tables.deadLetterRuns;
  }

  /** All that is in the store now, for a backup or a standby: later changes do not touch it. */
  copy(): Tables {
    const { zones, pools, deadLetterRuns, shards } = this.#tables;
    return {
      jobs: this.jobs.copy(),
      executions: this.executions.copy(),
      plans: this.plans.copy(),
      uniqueKeys: this.uniqueKeys.copy(),
      jobNames: this.jobNames.copy(),
      idempotencyKeys: this.idempotencyKeys.copy(),
      commands: this.commands.copy(),
      zones: { changeovers: [...zones.changeovers], versions: new Map(zones.versions) },
      pools: new Map(pools),
      deadLetterRuns: new Map(deadLetterRuns),
      shards: shards.map((shard) => shard.copy()),
    };
  }

  /** The store is what it was when the copy was made; whatever is on its way to it or back has to be ended by the caller. */
  goBack(copy: Tables): void {
    this.#tables = copy;
    this.timeline += 1;
    const { inFlight, journals } = recover(this, [...copy.shards.keys()]);
    const at = this.now();
    this.tell({ kind: "WENT_BACK", at, holders: this.holders(), rows: [...this.executions.all()], inFlight, journals });
  }

  /** Tells of everything that becomes true from now on, before anybody else can act on it. */
  observe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  tell(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  holders(): ShardHolder[] {
    return this.#tables.shards.map(({ epoch, owner }, shard) => ({ shard, epoch, owner }));
  }

  shard(id: ShardId): ShardState {
    const shard = this.#tables.shards[id];
    invariant(shard !== undefined, `the store has no shard ${id}`);
    return shard;
  }

  nextCommitNumber(): number {
    this.#commits += 1;
    return this.#commits;
  }
}
