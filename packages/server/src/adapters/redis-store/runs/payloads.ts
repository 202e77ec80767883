import type { ExecutionId } from "../../../domain/ids.ts";
import { chunked } from "../../../ports/chunks.ts";
import { payloadName, readBodies, resultName } from "../bodies.ts";
import type { StoredExecution } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { graphName, payloadField } from "./graphs.ts";
import { readRuns, type StoredRun } from "./run-record.ts";

/** Payloads of nodes in one call. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };
/** Stands for the workflow of a run that is gone. */
const NO_WORKFLOW = "00000000-0000-0000-0000-000000000000";

/** Payloads of executions. Executions without a payload are left out. */
export async function payloadsOf(
  db: RedisConnection,
  rows: readonly StoredExecution[],
): Promise<Map<ExecutionId, Uint8Array>> {
  const found = new Map<ExecutionId, Uint8Array>();
  const large: StoredExecution[] = [];
  for (const row of rows) {
    const { payload } = row;
    if (typeof payload === "number") large.push(row);
    else if (payload !== null && payload.length > 0) found.set(row.id, payload);
  }
  const ofJobs = large.filter(({ ofNode }) => ofNode === null);
  const names = ofJobs.map(({ jobId, jobVersion }) => payloadName(jobId, jobVersion));
  for (const [i, bytes] of (await readBodies(db, names)).entries())
    if (bytes !== null) found.set((ofJobs[i] as StoredExecution).id, bytes);
  const ofNodes = large.filter(({ ofNode }) => ofNode !== null);
  for (const [id, bytes] of await payloadsOfNodes(db, ofNodes)) found.set(id, bytes);
  return found;
}

/** Payloads of nodes, which are those of the graph of the run's workflow, or of a part of the run. */
async function payloadsOfNodes(
  db: RedisConnection,
  rows: readonly StoredExecution[],
): Promise<[ExecutionId, Buffer][]> {
  const ids = [...new Set(rows.map(({ jobId }) => jobId))];
  const runs = new Map((await readRuns(db, ids)).map((run, i) => [ids[i] as ExecutionId, run]));
  const found: [ExecutionId, Buffer][] = [];
  for (const part of chunked(rows, CALL, ({ payload }) => ({ count: 1, bytes: Number(payload) }))) {
    const commands = part.map((row) => {
      const node = row.ofNode?.node ?? 0;
      const name = nameOfNodes(runs.get(row.jobId) ?? null, row.jobVersion, node);
      return ["HGET", db.key(name), payloadField(node)] as const;
    });
    for (const [i, bytes] of (await db.call(commands)).entries())
      if (bytes !== null) found.push([(part[i] as StoredExecution).id, bytes as Buffer]);
  }
  return found;
}

function nameOfNodes(run: StoredRun | null, version: number, node: number): Buffer {
  const part = run?.parts.find(({ first, nodes }) => node >= first && node < first + nodes);
  return part?.name ?? graphName(run?.workflow ?? NO_WORKFLOW, version);
}

/** Results of executions, in order; null: it has none. */
export async function resultsOf(db: RedisConnection, rows: readonly StoredExecution[]): Promise<(Buffer | null)[]> {
  const names = rows.flatMap(({ id, result }) => (typeof result === "number" ? [resultName(id, result)] : []));
  const bodies = await readBodies(db, names);
  return rows.map(({ result }) => (typeof result === "number" ? (bodies.shift() ?? null) : result));
}

/** Payload and result of an execution; null: it has none. */
export async function bodiesOf(
  db: RedisConnection,
  row: StoredExecution,
): Promise<[payload: Uint8Array | null, result: Buffer | null]> {
  const payloads = await payloadsOf(db, [row]);
  return [payloads.get(row.id) ?? null, (await resultsOf(db, [row]))[0] ?? null];
}
