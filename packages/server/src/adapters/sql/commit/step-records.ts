import type { ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { RecordedStep } from "../../../domain/step.ts";
import type { RowChange, StepWrite } from "../../../ports/store.ts";
import type { StoreSteps } from "../../../ports/store-steps.ts";
import { byteas, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { STEP_KIND_CODES, STEPS_MARK_CODES, stepKindOf } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";
import { addSignal, chunksOf, readSignals } from "../executions/signals.ts";
import type { RaisedLevels } from "./raised-levels.ts";

/** Parts of the commit statement for ticks in which handlers make records (see commit-statement.ts), and their read. */

/**
 * Writes records, and marks the signals that they consume. A repeated record of a step changes nothing, and an older
 * checkpoint does not replace a newer one. Nothing is written of an execution whose change the same commit misses: the
 * record of a wait and the row that says so are durable together.
 * @param holds SQL condition that the fence of the shard in a column holds
 */
export const stepped = (holds: (column: string) => string) => `, step AS MATERIALIZED (
  SELECT unnest($85::int2[]) AS shard, unnest($86::uuid[]) AS execution_id, unnest($87::text[]) AS name,
    unnest($88::int2[]) AS kind, unnest($89::int4[]) AS attempt, unnest($90::int4[]) AS number,
    unnest($91::int8[]) AS at, unnest($92::bytea[]) AS data, unnest($93::text[]) AS signal_id
), missing AS MATERIALIZED (
  SELECT c.id FROM change c EXCEPT SELECT u.id FROM updated u
), stepped AS (
  INSERT INTO execution_steps AS o (execution_id, name, kind, attempt, number, at, data)
  SELECT execution_id, name, kind, attempt, number, at, data FROM step s
  WHERE ${holds("s.shard")} AND (s.execution_id IN (SELECT id FROM missing)) IS NOT TRUE
  ON CONFLICT (execution_id, name) DO UPDATE
  SET kind = EXCLUDED.kind, attempt = EXCLUDED.attempt, number = EXCLUDED.number, at = EXCLUDED.at, data = EXCLUDED.data
  WHERE (o.kind = ${STEP_KIND_CODES.CHECKPOINT} AND (o.attempt, o.number) < (EXCLUDED.attempt, EXCLUDED.number))
    OR (o.kind = ${STEP_KIND_CODES.WAIT} AND EXCLUDED.kind = ${STEP_KIND_CODES.RESULT})
  RETURNING o.execution_id, o.name
), taken AS (
  UPDATE signals g SET taken_by = s.name FROM step s
  WHERE g.execution_id = s.execution_id AND g.id = s.signal_id AND g.taken_by IS NULL
    AND ((s.execution_id, s.name) IN (SELECT execution_id, name FROM stepped)) IS TRUE
)`;

/** Marks of rows; NULL: the row keeps what it has. */
export const MARKS = ", unnest($84::int2[]) AS steps";
export const MARKED = ", steps = coalesce(c.steps, e.steps)";

/** @param changes all changes of the commit, in the order of its other values */
export function steppedValues(
  changes: readonly Pick<RowChange, "steps">[],
  steps: readonly { shard: ShardId; item: StepWrite }[],
): unknown[] {
  const rows = steps.map(({ item }) => item);
  return [
    int2s(changes, (c) => (c.steps === undefined ? null : STEPS_MARK_CODES[c.steps])),
    int2s(steps, (s) => s.shard),
    uuids(rows, (s) => s.executionId),
    texts(rows, (s) => s.name),
    int2s(rows, (s) => STEP_KIND_CODES[s.kind]),
    int4s(rows, (s) => s.attempt),
    int4s(rows, (s) => s.number),
    int8s(rows, (s) => s.at),
    byteas(rows, (s) => s.data),
    texts(rows, (s) => s.signalId ?? null),
  ];
}

export const READ_STEPS = `
  SELECT s.execution_id, s.name, s.kind, s.attempt, s.number, s.at, s.data FROM (SELECT unnest($1::uuid[]) AS id) w
  JOIN execution_steps s ON s.execution_id = w.id ORDER BY s.execution_id, s.attempt, s.number, s.name`;

type StepRow = [
  executionId: ExecutionId,
  name: string,
  kind: number,
  attempt: number,
  number: number,
  at: number,
  data: Uint8Array | null,
];

export function steps(db: Connections, levels: RaisedLevels): StoreSteps {
  return {
    readSignals: (ids) => readSignals(db, ids),
    addSignal: async (executionId, signal, command) => {
      await levels.raise("DURABLE_STEPS");
      return db.transaction("submit", (session) => addSignal(session, executionId, signal, command));
    },
    read: async (ids) => {
      const found = new Map<ExecutionId, RecordedStep[]>();
      for (const values of chunksOf(ids)) {
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
