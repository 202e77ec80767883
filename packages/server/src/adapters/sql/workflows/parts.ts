import type { ExecutionId } from "../../../domain/ids.ts";
import type { NewRetry, StoredPart } from "../../../ports/store-runs.ts";
import { int4s, uuids } from "../connection/arrays.ts";
import type { Connections, Session } from "../connection/connections.ts";

/** Reads of the parts of runs, which are nodes that handlers have added, and copies for retries. */

export const READ_PARTS = `
  SELECT p.run, p.spawner, p.first, p.nodes, p.graph, p.definitions
  FROM (SELECT unnest($1::uuid[]) AS run) a JOIN workflow_parts p ON p.run = a.run ORDER BY p.first`;

type PartRow = [
  run: ExecutionId,
  spawner: number,
  first: number,
  nodes: number,
  graph: Uint8Array,
  definitions: Uint8Array,
];

/** Parts of runs, by their first nodes. */
export async function readParts(
  db: Connections,
  purpose: "read" | "query",
  runs: readonly ExecutionId[],
): Promise<Map<ExecutionId, StoredPart[]>> {
  const found = new Map<ExecutionId, StoredPart[]>();
  if (runs.length === 0) return found;
  const values = [uuids(runs, (run) => run)];
  for (const row of await db.run(purpose, { name: "read_parts", text: READ_PARTS, values })) {
    const [run, spawner, first, nodes, graph, definitions] = row as PartRow;
    found.set(run, [...(found.get(run) ?? []), { spawner, first, nodes, graph, definitions }]);
  }
  return found;
}

const KEEP_PARTS = `
  INSERT INTO workflow_parts (run, first, spawner, nodes, graph, definitions)
  SELECT $1, p.first, p.spawner, p.nodes, p.graph, p.definitions FROM workflow_parts p
  WHERE p.run = $2 AND p.first = ANY($3::int4[])`;

const KEEP_PAYLOADS = `
  INSERT INTO workflow_part_payloads (run, node, payload)
  SELECT $1, w.node, w.payload FROM workflow_parts p JOIN workflow_part_payloads w
    ON w.run = p.run AND w.node >= p.first AND w.node < p.first + p.nodes
  WHERE p.run = $2 AND p.first = ANY($3::int4[])`;

/** Gives a retry the parts that it keeps. */
export async function keepParts(
  session: Session,
  { executionId, retryOf, parts }: Pick<NewRetry, "executionId" | "retryOf" | "parts">,
): Promise<void> {
  if (parts.length === 0) return;
  const values = [executionId, retryOf, int4s(parts, (first) => first)];
  await session.run({ text: KEEP_PARTS, values });
  await session.run({ text: KEEP_PAYLOADS, values });
}
