import type { Candidate, RankCursor } from "../../../domain/execution.ts";
import type { EpochMs, ExecutionId, Incarnation, ShardId } from "../../../domain/ids.ts";
import { lostAttempts } from "../../../domain/lost-attempts.ts";
import type { PoolChange } from "../../../domain/pool.ts";
import { defaultPool, ownerOfPool, type Pool } from "../../../domain/pool.ts";
import type { InFlightRow, LookAhead, PollSummary, Recovered } from "../../../ports/store.ts";
import type { Command } from "../../../ports/store-commands.ts";
import { byText } from "../sorted-list.ts";
import type { StoreData } from "../store-data.ts";
import { candidateOf, type ExecutionRow } from "./execution-row.ts";
import { keyedRuns, openRuns } from "./runs.ts";

/** Largest number of commands to read at once; the rest is read when these have been applied. */
const COMMANDS_LIMIT = 10_000;

/** Largest number of workflow runs to read at once; sweeps find the rest. */
const RUNS_LIMIT = 100;

/** See Store.recover. */
export function recover(data: StoreData, shards: readonly ShardId[]): Recovered {
  const sorted = [...new Set(shards)].sort((a, b) => a - b);
  const journals: Recovered["journals"] = [];
  const inFlight: InFlightRow[] = [];
  for (const shard of sorted) {
    for (const { ref, entries } of data.shard(shard).journals()) {
      const before = inFlight.length;
      for (const { id, ...assignment } of entries) {
        const row = living(data, id);
        // A row that is final, or that has this attempt or a later one, has settled the journal entry.
        if (row === null || row.attempt >= assignment.attempt) continue;
        inFlight.push({ row: candidateOf(row), ...assignment, attemptStartedAt: null, journal: { ...ref } });
      }
      journals.push({ shard, ref: { ...ref }, unsettled: inFlight.length - before });
    }
  }
  for (const shard of sorted) inFlight.push(...data.executions.held(shard).map(heldRow));
  const commands = data.commands.read(new Set(shards), new Set(), COMMANDS_LIMIT);
  const runs = openRuns(data, shards, null, RUNS_LIMIT).map(({ id }) => id);
  const keyed = keyedRuns(data, shards);
  const lost = lostAttempts(data.generation.number, data.generation.since);
  return {
    ...{ inFlight, journals, commands },
    ...(runs.length > 0 && { runs }),
    ...(keyed.length > 0 && { keyedRuns: keyed }),
    ...(lost !== null && { lostAttempts: lost }),
  };
}

function heldRow(row: ExecutionRow): InFlightRow {
  return {
    row: candidateOf(row),
    attempt: row.attempt,
    workerId: row.workerId ?? "",
    gateway: row.gateway ?? "",
    // The row does not store the time of the assignment, so the start, which came a moment later, stands in for it.
    assignedAt: row.attemptStartedAt ?? row.dueAt,
    attemptStartedAt: row.attemptStartedAt,
    journal: null,
  };
}

function living(data: StoreData, id: ExecutionId): ExecutionRow | null {
  const row = data.executions.get(id);
  return row === undefined || row.queue === "NONE" ? null : row;
}

/** See Store.poll. */
export function poll(data: StoreData, shards: readonly ShardId[], { dueUntil, firesUntil }: LookAhead): PollSummary {
  const own = new Set(shards);
  let plans = false;
  data.plans.due(firesUntil, ({ shard }) => !(plans ||= own.has(shard)));
  return {
    waiting: data.executions.waiting(own, dueUntil, 1).length > 0,
    ready: data.executions.lanes(null, 1).length > 0,
    plans,
    commands: data.commands.read(own, new Set(), 1).length > 0,
    events: data.events.hasInbox(own),
    pools: readPools(data),
  };
}

export function readWaiting(data: StoreData, shards: readonly ShardId[], dueUntil: EpochMs, limit: number) {
  return data.executions.waiting(new Set(shards), dueUntil, limit).map(candidateOf);
}

export function readReady(
  data: StoreData,
  shards: readonly ShardId[],
  laneHash: number,
  after: RankCursor | null,
  limit: number,
): Candidate[] {
  return data.executions.ready(new Set(shards), laneHash, after, limit).map(candidateOf);
}

export function load(data: StoreData, ids: readonly ExecutionId[]): Candidate[] {
  const found: Candidate[] = [];
  for (const id of ids) {
    const row = living(data, id);
    if (row !== null) found.push(candidateOf(row));
  }
  return found;
}

export function payloads(data: StoreData, ids: readonly ExecutionId[]): Map<ExecutionId, Uint8Array> {
  const found = new Map<ExecutionId, Uint8Array>();
  for (const id of ids) {
    const payload = data.executions.get(id)?.job.payload ?? null;
    if (payload !== null && payload.length > 0) found.set(id, payload);
  }
  return found;
}

export function addCommand(data: StoreData, by: Incarnation, command: Command): void {
  const kept = { ...command };
  if (data.commands.add(kept)) data.tell({ kind: "COMMANDED", at: data.now(), by, command: kept });
}

export function readPools(data: StoreData): Pool[] {
  return [...data.pools.values()].sort((a, b) => byText(a.name, b.name)).map((pool) => ({ ...pool }));
}

export function putPool(data: StoreData, change: PoolChange): Pool {
  const pool = { ...(data.pools.get(change.name) ?? defaultPool(change.name)), ...change };
  data.pools.set(pool.name, pool);
  if (ownerOfPool(pool.name) !== null) data.tenants.version++;
  data.tell({ kind: "POOL_SET", at: data.now(), pool: { ...pool } });
  return { ...pool };
}
