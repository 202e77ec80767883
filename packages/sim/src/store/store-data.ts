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
import { ShardState } from "./shard-state.ts";
import type { StoredZones } from "./time-zones.ts";

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
  readonly jobs = new JobTable();
  readonly executions = new ExecutionTable();
  readonly plans = new PlanTable();
  readonly uniqueKeys = new UniqueKeys();
  readonly jobNames = new JobNames();
  readonly idempotencyKeys = new IdempotencyKeys();
  readonly commands = new CommandInbox();
  readonly zones: StoredZones = { changeovers: [], versions: new Map() };
  /** By name; those that have settings of their own. */
  readonly pools = new Map<string, Pool>();
  readonly deadLetterRuns = new Map<string, StoredRun>();
  /** Calls that have been sent and have not taken effect. */
  readonly onTheWay = new OnTheWay();
  readonly #shards: readonly ShardState[] = Array.from({ length: SHARD_COUNT }, () => new ShardState());
  readonly #listeners: ((event: StoreEvent) => void)[] = [];
  #commits = 0;

  constructor({ now, refuses = () => null }: StoreDataOptions) {
    this.now = now;
    this.refuses = refuses;
  }

  /** Tells of everything that becomes true from now on, before anybody else can act on it. */
  observe(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  tell(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  holders(): ShardHolder[] {
    return this.#shards.map(({ epoch, owner }, shard) => ({ shard, epoch, owner }));
  }

  shard(id: ShardId): ShardState {
    const shard = this.#shards[id];
    invariant(shard !== undefined, `the store has no shard ${id}`);
    return shard;
  }

  nextCommitNumber(): number {
    this.#commits += 1;
    return this.#commits;
  }
}
