import { levelOf } from "../../../domain/cluster/feature-level.ts";
import type { ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { RecordedStep } from "../../../domain/step.ts";
import type { StepWrite } from "../../../ports/store.ts";
import type { StoreSteps } from "../../../ports/store-steps.ts";
import { byteas, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { STEP_KIND_CODES, stepKindOf } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";

/** Parts of the commit statement for ticks in which handlers make records (see commit-statement.ts), and their read. */

/**
 * Writes records. A repeated record of a step changes nothing, and an older checkpoint does not replace a newer one.
 * @param holds SQL condition that the fence of the shard in a column holds
 */
export const stepped = (holds: (column: string) => string) => `, step AS MATERIALIZED (
  SELECT unnest($84::int2[]) AS shard, unnest($85::uuid[]) AS execution_id, unnest($86::text[]) AS name,
    unnest($87::int2[]) AS kind, unnest($88::int4[]) AS attempt, unnest($89::int4[]) AS number,
    unnest($90::int8[]) AS at, unnest($91::bytea[]) AS data
), stepped AS (
  INSERT INTO execution_steps AS o (execution_id, name, kind, attempt, number, at, data)
  SELECT execution_id, name, kind, attempt, number, at, data FROM step s WHERE ${holds("s.shard")}
  ON CONFLICT (execution_id, name) DO UPDATE
  SET attempt = EXCLUDED.attempt, number = EXCLUDED.number, at = EXCLUDED.at, data = EXCLUDED.data
  WHERE o.kind = ${STEP_KIND_CODES.CHECKPOINT} AND (o.attempt, o.number) < (EXCLUDED.attempt, EXCLUDED.number)
)`;

/** Marks the row of an execution that has records. Without `IS TRUE`, the planner makes this a join. */
export const MARKED = `,
    steps = CASE WHEN (c.id IN (SELECT execution_id FROM step)) IS TRUE THEN 1 ELSE e.steps END`;

export function steppedValues(steps: readonly { shard: ShardId; item: StepWrite }[]): unknown[] {
  const rows = steps.map(({ item }) => item);
  return [
    int2s(steps, (s) => s.shard),
    uuids(rows, (s) => s.executionId),
    texts(rows, (s) => s.name),
    int2s(rows, (s) => STEP_KIND_CODES[s.kind]),
    int4s(rows, (s) => s.attempt),
    int4s(rows, (s) => s.number),
    int8s(rows, (s) => s.at),
    byteas(rows, (s) => s.data),
  ];
}

/**
 * Keeps programs of an older feature level from opening the store: they would repeat steps that are recorded. Comes
 * before the first record, in a transaction of its own.
 */
export async function raiseLevel(db: Connections): Promise<void> {
  const level = levelOf("DURABLE_STEPS");
  const text = "UPDATE schema_migrations SET needs_level = $1 WHERE name = 'steps' AND needs_level < $1";
  await db.run("maintain", { text, values: [level] });
}

export const READ_STEPS = `
  SELECT s.execution_id, s.name, s.kind, s.attempt, s.number, s.at, s.data FROM (SELECT unnest($1::uuid[]) AS id) w
  JOIN execution_steps s ON s.execution_id = w.id ORDER BY s.execution_id, s.attempt, s.number`;

/** Number of executions that one statement reads. Each of them has at most 4 MiB of records. */
const CHUNK = 8;

type StepRow = [
  executionId: ExecutionId,
  name: string,
  kind: number,
  attempt: number,
  number: number,
  at: number,
  data: Uint8Array | null,
];

export function steps(db: Connections): StoreSteps {
  return {
    read: async (ids) => {
      const found = new Map<ExecutionId, RecordedStep[]>();
      for (let from = 0; from < ids.length; from += CHUNK) {
        const values = [uuids(ids.slice(from, from + CHUNK), (id) => id)];
        for (const row of await db.run("read", { name: "read_steps", text: READ_STEPS, values }))
          addTo(found, row as StepRow);
      }
      return found;
    },
  };
}

function addTo(found: Map<ExecutionId, RecordedStep[]>, row: StepRow): void {
  const [executionId, name, kind, attempt, number, at, data] = row;
  const step = { name, kind: stepKindOf(kind), attempt, number, at, data };
  const known = found.get(executionId);
  if (known === undefined) found.set(executionId, [step]);
  else known.push(step);
}
