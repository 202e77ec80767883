import type { ExecutionId } from "../../../domain/ids.ts";
import type { Ends, OriginOfRun, StoreRuns } from "../../../ports/store-runs.ts";
import { resultName } from "../bodies.ts";
import type { Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { StoredExecution } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { readItems } from "./items.ts";
import { loadRuns } from "./load-runs.ts";
import { openRuns } from "./open-runs.ts";
import { resultsOf } from "./payloads.ts";
import { readRuns, type StoredRun } from "./run-record.ts";

/** Executions whose ends one call reads. */
const ENDS = 500;

/** See StoreRuns. */
export function runReads(db: RedisConnection, kinds: Kinds): Omit<StoreRuns, "retry"> {
  return {
    load: (ids, isKnown) => loadRuns(db, kinds, ids, isKnown),
    results: (ids) => results(db, ids),
    kept: (ids) => ofRuns(db, ids, ({ kept }) => kept),
    mapCounts: (ids) => ofRuns(db, ids, ({ mapCounts }) => mapCounts),
    origins: (ids) => origins(db, ids),
    ends: (ids, bytes) => ends(db, ids, bytes),
    items: async (ids) => new Map([...(await readItems(db, ids))].filter(([, items]) => items.length > 0)),
    openRuns: (...asked) => openRuns(db, ...asked),
  };
}

async function ofRuns<Row>(
  db: RedisConnection,
  ids: readonly ExecutionId[],
  rowsOf: (run: StoredRun) => readonly Row[],
): Promise<Map<ExecutionId, readonly Row[]>> {
  const runs = await readRuns(db, ids);
  const found = runs.map((run, i) => [ids[i] as ExecutionId, run === null ? [] : rowsOf(run)] as const);
  return new Map(found.filter(([, rows]) => rows.length > 0));
}

async function results(db: RedisConnection, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Uint8Array | null>> {
  const rows = (await readRows(db, ids)).filter((row) => row?.state === "SUCCEEDED") as StoredExecution[];
  const bodies = await resultsOf(db, rows);
  return new Map(rows.map(({ id }, i) => [id, bodies[i] ?? null]));
}

async function origins(db: RedisConnection, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, OriginOfRun>> {
  const rows = await readRows(db, ids);
  return new Map(rows.flatMap((row) => (row?.isRun && row.ofNode !== null ? [[row.id, row.ofNode] as const] : [])));
}

/** See StoreRuns.ends. Sizes come before the results, so Redis sends no large result beyond the limit. */
async function ends(db: RedisConnection, ids: readonly ExecutionId[], bytes: number): Promise<Ends> {
  const byId = new Map<ExecutionId, { state: StoredExecution["state"]; result: Uint8Array | null }>();
  let [looked, read] = [0, 0];
  while (looked < ids.length && (read < bytes || byId.size === 0)) {
    const rows = await readRows(db, ids.slice(looked, looked + ENDS));
    const sizes = await resultSizes(db, rows);
    const asked: StoredExecution[] = [];
    for (const [i, row] of rows.entries()) {
      if (read >= bytes && read > 0) break;
      looked++;
      if (row === null) continue;
      asked.push(row);
      read += sizes[i] as number;
    }
    const bodies = await resultsOf(db, asked);
    for (const [i, { id, state }] of asked.entries()) byId.set(id, { state, result: bodies[i] ?? null });
  }
  return { byId, looked };
}

/** Bytes of the results of executions, in order. */
async function resultSizes(db: RedisConnection, rows: readonly (StoredExecution | null)[]): Promise<number[]> {
  const large = rows.flatMap((row) => (typeof row?.result === "number" ? [resultName(row.id, row.result)] : []));
  const lengths = await db.call(large.map((name) => ["STRLEN", db.key(name)]));
  return rows.map((row) => {
    const result = row?.result ?? null;
    return typeof result === "number" ? Number(lengths.shift()) : (result?.length ?? 0);
  });
}
