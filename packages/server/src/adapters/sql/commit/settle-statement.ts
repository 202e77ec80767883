import { defaultPool } from "../../../domain/pool.ts";
import { ORDER_STRATEGIES, rankOf } from "../../../domain/rank.ts";
import type { DeadLetterAction } from "../../../ports/store-dead-letters.ts";
import { uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, STATE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Statement } from "../connection/connections.ts";
import type { Conditions } from "../connection/query.ts";

/** Condition of a dead letter that is neither replayed nor discarded, in the exact words of its partial index. */
export const IS_OPEN = `e.state = ${STATE_CODES.DEAD} AND e.settled IS NULL`;

export const SETTLED_CODES: Record<DeadLetterAction, number> = { REPLAY: 1, DISCARD: 2 };

/** Columns that a replay copies unchanged from its dead letter. */
const COPIED = `job_id, lane, concurrency_limit, payload_bytes, shard, priority, has_unique_key, tenant, pool, handler,
  requires, concurrency_key, job_version`;

/** A replay is due now, so it must drop a `startBefore` that has passed. */
const POLICY = "CASE WHEN policy IS NOT NULL THEN jsonb_set(policy::jsonb, '{startBefore}', 'null')::text END";

/**
 * Settles the dead letters that the conditions choose, in the order of their ids, as one statement: a letter leaves the
 * list in the instant in which its replay exists. A concurrent statement for the same letter waits, and then finds the
 * letter settled. Letters of a deleted job are not chosen for a replay. The statement locks a job while it creates a replay, so
 * that a concurrent change or deletion of the job sees the replay. The answer has (id, new id, whether the letter was
 * settled, whether the letter is a run of a workflow) for each chosen letter. A replay leaves runs as they are.
 * @param newIds ids for replays, one per letter; their number bounds how many letters are settled
 */
export function settleStatement(
  action: DeadLetterAction,
  where: Conditions,
  newIds: readonly string[],
  at: number,
): Statement {
  const count = where.values.length;
  const [ids, now] = [`$${count + 1}::uuid[]`, `$${count + 2}::int8`];
  const [job, lock] =
    action === "REPLAY"
      ? ["JOIN jobs j ON j.id = e.job_id AND j.deleted_at IS NULL", "FOR UPDATE OF e FOR SHARE OF j"]
      : ["", "FOR UPDATE OF e"];
  const text = `
    WITH picked AS MATERIALIZED (
      SELECT e.id, e.policy, e.node, ${COPIED.replaceAll(/\w+/g, "e.$&")} FROM executions e ${job}
      WHERE ${IS_OPEN} AND ${where.text} ORDER BY e.id LIMIT ${newIds.length} ${lock}
    ), letter AS MATERIALIZED (
      SELECT p.*, i.new_id FROM (SELECT *, row_number() OVER (ORDER BY id) AS place FROM picked) p
      JOIN unnest(${ids}) WITH ORDINALITY i (new_id, place) USING (place)
    ), ${action === "REPLAY" ? REPLAYS : "chosen AS (SELECT id FROM letter), "}
    settled AS (
      UPDATE executions e SET settled = ${SETTLED_CODES[action]}, updated_at = ${now}
      FROM chosen c WHERE e.id = c.id AND ${IS_OPEN} RETURNING e.id
    ) ${action === "REPLAY" ? insertReplays(now) : ""}
    SELECT l.id, l.new_id, s.id IS NOT NULL, l.node IS NOT NULL FROM letter l LEFT JOIN settled s ON s.id = l.id ORDER BY l.id`;
  return { text, values: [...where.values, uuids(newIds, (id) => id), at] };
}

/**
 * Claims unique keys in sorted order, as submits do, which rules out deadlocks. A letter whose unique key is held stays
 * a dead letter.
 */
const REPLAYS = `
  claimed AS (
    INSERT INTO unique_keys (tenant, key, execution_id, job_id)
    SELECT l.tenant, j.unique_key, l.new_id, l.job_id FROM letter l JOIN jobs j ON j.id = l.job_id
    WHERE l.has_unique_key AND l.node IS NULL ORDER BY l.tenant COLLATE "C", j.unique_key COLLATE "C"
    ON CONFLICT DO NOTHING RETURNING execution_id
  ), chosen AS MATERIALIZED (
    SELECT * FROM letter l
    WHERE l.node IS NULL AND (NOT l.has_unique_key OR l.new_id IN (SELECT execution_id FROM claimed))
  ),`;

function insertReplays(now: string): string {
  return `, made AS (
    INSERT INTO executions (id, retry_of, rank, due_at, scheduled_at, created_at, updated_at, state, queue, trigger,
      policy, ${COPIED})
    SELECT c.new_id, c.id, ${rank(now)}, ${now}, ${now}, ${now}, ${now}, ${STATE_CODES.PENDING}, ${QUEUE_CODES.READY},
      ${TRIGGER_CODES.RETRY}, ${POLICY}, ${COPIED.replaceAll(/\w+/g, "c.$&")}
    FROM chosen c LEFT JOIN pools p ON p.name = c.pool
  )`;
}

/** `rankOf` in SQL, by the present settings of the letter's pool. */
function rank(now: string): string {
  const usual = defaultPool("");
  const step = `coalesce(p.priority_step_ms, ${usual.priorityStepMs})`;
  const cases = ORDER_STRATEGIES.map((order) => {
    const steps = -rankOf({ order, priorityStepMs: 1 }, 0, 1);
    return `WHEN '${order}' THEN ${now} - c.priority * ${steps} * ${step}`;
  });
  return `CASE coalesce(p.order_strategy, '${usual.order}') ${cases.join(" ")} END`;
}
