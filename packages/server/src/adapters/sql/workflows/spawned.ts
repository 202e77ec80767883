import type { ExecutionId } from "../../../domain/ids.ts";
import type { RowChange } from "../../../ports/store.ts";
import type { NewPart } from "../../../ports/store-runs.ts";
import { byteas, int4s, uuids } from "../connection/arrays.ts";
import { NEXT } from "./running.ts";

/** Part of the commit statement for ends of nodes whose handlers have added nodes; see commit-statement.ts. */

/** Number of the first parameter of the commit statement's part, for changes that add nodes. */
const FIRST = NEXT;
const PAYLOAD = FIRST + 7;
/** Number of the first parameter behind this part. */
export const AFTER_SPAWNED = PAYLOAD + 4;

/** Writes the nodes that the handlers of nodes have added, if the statement updates the rows of these nodes. */
export const SPAWNED = `, parted AS (
  INSERT INTO workflow_parts (run, first, spawner, nodes, graph, definitions)
  SELECT p.run, p.first, p.spawner, p.nodes, p.graph, p.definitions FROM (
    SELECT unnest($${FIRST}::uuid[]) AS id, unnest($${FIRST + 1}::uuid[]) AS run, unnest($${FIRST + 2}::int4[]) AS first,
      unnest($${FIRST + 3}::int4[]) AS spawner, unnest($${FIRST + 4}::int4[]) AS nodes, unnest($${FIRST + 5}::bytea[]) AS graph,
      unnest($${FIRST + 6}::bytea[]) AS definitions
  ) p WHERE (p.id IN (SELECT u.id FROM updated u)) IS TRUE
), part_payload AS (
  INSERT INTO workflow_part_payloads (run, node, payload)
  SELECT p.run, p.node, p.payload FROM (
    SELECT unnest($${PAYLOAD}::uuid[]) AS id, unnest($${PAYLOAD + 1}::uuid[]) AS run, unnest($${PAYLOAD + 2}::int4[]) AS node,
      unnest($${PAYLOAD + 3}::bytea[]) AS payload
  ) p WHERE (p.id IN (SELECT u.id FROM updated u)) IS TRUE
)`;

/** Values of these parameters. */
export function spawnedValues(changes: readonly RowChange[]): unknown[] {
  const parts: (NewPart & { id: ExecutionId })[] = [];
  for (const { id, spawn } of changes) if (spawn !== undefined) parts.push({ ...spawn, id });
  const payloads = parts.flatMap(({ id, run, payloads: own }) => own.map((payload) => ({ ...payload, id, run })));
  return [
    uuids(parts, (p) => p.id),
    uuids(parts, (p) => p.run),
    int4s(parts, (p) => p.first),
    int4s(parts, (p) => p.spawner),
    int4s(parts, (p) => p.nodes),
    byteas(parts, (p) => p.graph),
    byteas(parts, (p) => p.definitions),
    uuids(payloads, (p) => p.id),
    uuids(payloads, (p) => p.run),
    int4s(payloads, (p) => p.node),
    byteas(payloads, (p) => p.payload),
  ];
}

/** Bytes that a change adds with its nodes. */
export function spawnedBytes({ spawn }: Pick<RowChange, "spawn">): number {
  if (spawn === undefined) return 0;
  const { graph, definitions, payloads } = spawn;
  return payloads.reduce((sum, { payload }) => sum + payload.length, graph.length + definitions.length);
}
