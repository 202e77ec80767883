import type { ExecutionId } from "../../../domain/ids.ts";
import type { KeptLine } from "../../../domain/log-lines.ts";
import { type LogPart, PARTS_KEPT_MAX, type StoreLogs } from "../../../ports/store-logs.ts";
import { int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import type { Connections, Row } from "../connection/connections.ts";

/**
 * Makes PostgreSQL find each row by its index. Statistics know little of what `KEEP` is given, and a plan that scans a
 * month instead is never right.
 */
export const BY_INDEX =
  "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";

/**
 * Writes parts of executions that exist: no other id is known to have a month. A worker of a tenant writes parts of its
 * tenant's executions alone. Parts that are more than an attempt may have are deleted; the statement counts those that were
 * there before it, so the parts that it adds make room for themselves.
 */
export const KEEP = `
  WITH given AS MATERIALIZED (
    SELECT d.execution_id, d.attempt, d.part, d.received, d.lines
    FROM unnest($1::uuid[], $2::int4[], $3::int8[], $4::int8[], $5::text[], $6::text[])
      AS d (execution_id, attempt, part, received, lines, tenant)
    WHERE EXISTS (
      SELECT FROM executions e WHERE e.id = d.execution_id AND e.tenant = coalesce(d.tenant, e.tenant))
  ), surplus AS (
    DELETE FROM attempt_logs l USING given d
    WHERE l.execution_id = d.execution_id AND l.attempt = d.attempt AND l.part < d.part AND ${PARTS_KEPT_MAX} <= (
      SELECT count(*) + 1 FROM attempt_logs n
      WHERE n.execution_id = l.execution_id AND n.attempt = l.attempt AND n.part > l.part AND n.part <> d.part)
  )
  INSERT INTO attempt_logs AS l (execution_id, attempt, part, received, lines) SELECT * FROM given
  ON CONFLICT (execution_id, attempt, part) DO UPDATE SET received = excluded.received, lines = excluded.lines
  WHERE l.received < excluded.received`;

const READ = `
  SELECT part, received, lines FROM attempt_logs WHERE execution_id = $1 AND attempt = $2 ORDER BY part`;

/** See StoreLogs. */
export function logs(db: Connections): StoreLogs {
  return {
    keep: async (parts) => {
      if (parts.length === 0) return;
      const values = columnsOf(parts);
      await db.transaction("query", async (session) => {
        await session.run({ text: BY_INDEX });
        await session.run({ text: KEEP, values });
      });
    },
    read: async (executionId, attempt) => {
      const rows = await db.run("query", { text: READ, values: [executionId, attempt] });
      return rows.map((row) => partFrom(executionId, attempt, row));
    },
  };
}

export function columnsOf(parts: readonly LogPart[]): unknown[] {
  return [
    uuids(parts, ({ executionId }) => executionId),
    int4s(parts, ({ attempt }) => attempt),
    int8s(parts, ({ part }) => part),
    int8s(parts, ({ received }) => received),
    texts(parts, ({ lines }) => linesText(lines)),
    texts(parts, ({ tenant }) => tenant ?? null),
  ];
}

function partFrom(executionId: ExecutionId, attempt: number, [part, received, text]: Row): LogPart {
  return { executionId, attempt, part, received, lines: linesFrom(text as string) } as LogPart;
}

/** Text of the column `lines`. */
export function linesText(lines: readonly KeptLine[]): string {
  return JSON.stringify(lines.map(({ at, level, line }) => [at, level, line]));
}

export function linesFrom(text: string): KeptLine[] {
  return (JSON.parse(text) as [number, string, string][]).map(([at, level, line]) => ({ at, level, line }));
}
