import type { ShardId } from "../../../domain/ids.ts";
import { ownBlock } from "../../../ports/event-blocks.ts";
import type { ShardCommit } from "../../../ports/store.ts";
import type { ToldEvents } from "../../../ports/store-events.ts";
import { byteas, int2s, int8s, uuids } from "../connection/arrays.ts";
import { STATE_CODES, STEP_KIND_CODES } from "../connection/codes.ts";
import { AFTER_SPAWNED } from "../workflows/spawned.ts";

/** Part of the commit statement for commits with lifecycle events; see commit-statement.ts. */

const [ROW, INBOX] = [AFTER_SPAWNED, AFTER_SPAWNED + 4] as const;

/** Number of the first parameter behind this part. */
export const AFTER_TOLD = INBOX + 2;

/** Parts of the answer. Each is an array of ids, or NULL. */
const ANSWERS = ["changes", "expected", "plans", "occurrences", "runs", "nodes", "added"] as const;

/**
 * Writes the events of each shard as one row, together with those that it takes out of the inbox, and the ids whose events
 * do not count: the answer names them, occurrences of missed plans, and steps that were recorded before. The answer is computed once for both.
 * @param holds SQL condition that the fence of the shard in a column holds
 * @param answer SQL expressions of the answer, in the order of `ANSWERS`; the last ones may be left out
 */
export const told = (
  holds: (column: string) => string,
  answer: string,
  { planning, running, stepping }: { planning: boolean; running: boolean; stepping: boolean },
) => `, unwritten (${ANSWERS.slice(0, running ? 7 : planning ? 4 : 2).join(", ")}) AS MATERIALIZED (
  SELECT ${answer}
), event_taken AS (
  DELETE FROM event_inbox i
  USING (SELECT unnest($${INBOX}::int2[]) AS shard, unnest($${INBOX + 1}::uuid[]) AS id) t
  WHERE i.id = t.id AND i.shard = t.shard AND ${holds("t.shard")} RETURNING i.shard, i.id, i.events
), event_bundle AS MATERIALIZED (
  SELECT shard, string_agg(events, ''::bytea ORDER BY id) AS events FROM event_taken GROUP BY shard
), event_row AS (
  INSERT INTO outbox (shard, epoch, seq, written_at, events, missed, held${stepping ? ", unrecorded" : ""})
  SELECT o.shard, o.epoch, o.seq, $24::int8, o.events, nullif(m.changes || m.expected${
    planning ? " || m.plans || o.uncreated" : ""
  }${running ? " || m.nodes" : ""}, '{}'), ${planning ? "o.skipped" : "NULL"}${stepping ? `, ${UNRECORDED}` : ""}
  FROM (
    SELECT t.shard, t.epoch, t.seq, coalesce(t.events, ''::bytea) ||
        coalesce((SELECT b.events FROM event_bundle b WHERE b.shard = t.shard), ''::bytea) AS events${
          planning ? `, ${UNCREATED} AS uncreated, ${SKIPPED} AS skipped` : ""
        }
    FROM (SELECT unnest($${ROW}::int2[]) AS shard, unnest($${ROW + 1}::int8[]) AS epoch, unnest($${ROW + 2}::int8[]) AS seq,
      unnest($${ROW + 3}::bytea[]) AS events) t WHERE ${holds("t.shard")}
  ) o CROSS JOIN unwritten m WHERE o.events <> ''::bytea
)`;

/** Occurrences that are not PENDING, those of missed plans among them. */
const UNCREATED = `(SELECT array_agg(id) FROM (
          SELECT unnest($59::uuid[]) AS id EXCEPT SELECT id FROM born WHERE state = ${STATE_CODES.PENDING}) u)`;
const SKIPPED = `(SELECT array_agg(id) FROM born WHERE state = ${STATE_CODES.SKIPPED})`;

/** Steps whose earlier value counts, as `stepKey` names them. Records of missed rows are among them. */
const UNRECORDED = `(SELECT array_agg(s.execution_id::text || '/' || s.name) FROM step s
    WHERE s.shard = o.shard AND s.kind = ${STEP_KIND_CODES.RESULT}
      AND NOT EXISTS (SELECT FROM stepped d WHERE d.execution_id = s.execution_id AND d.name = s.name))`;

interface OfShard extends ToldEvents {
  shard: ShardId;
  epoch: number;
}

/** Whether a commit needs this part. */
export function isTelling({ told: own }: ShardCommit): boolean {
  return own !== undefined && own.events.length + own.inbox.length > 0;
}

/** Values of these parameters. */
export function toldValues(batch: readonly ShardCommit[]): unknown[] {
  const rows: OfShard[] = [];
  for (const { shard, epoch, told: own } of batch) if (own !== undefined) rows.push({ ...own, shard, epoch });
  const inbox = rows.flatMap(({ shard, inbox: ids }) => ids.map((id) => ({ shard, id })));
  return [
    int2s(rows, (r) => r.shard),
    int8s(rows, (r) => r.epoch),
    int8s(rows, (r) => r.seq),
    byteas(rows, (r) => ownBlock(r.events)),
    int2s(inbox, (i) => i.shard),
    uuids(inbox, (i) => i.id),
  ];
}

/** Approximate bytes that a commit adds with its events. */
export function toldBytes({ told: own }: ShardCommit): number {
  return own === undefined ? 0 : own.events.length * 100;
}
