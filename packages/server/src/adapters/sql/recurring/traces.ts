import type { EpochMs, JobId } from "../../../domain/ids.ts";
import type { InstantTraces, JobStretch, RecurringJob } from "../../../ports/store-queries.ts";
import { int8s, uuids } from "../connection/arrays.ts";
import type { Connections } from "../connection/connections.ts";
import { FIRST_RECURRING_ID } from "../executions/list-walk.ts";
import { definitionOf, jobSummary, SUMMARY } from "../jobs/job-rows.ts";
import { IS_PLANNED } from "./recurrences.ts";

/** One index lookup of the plan for each job, because the planner might otherwise read all plans for each page. */
const JOBS = `
  SELECT ${SUMMARY} FROM (
    SELECT r.* FROM jobs r WHERE r.id > $1 AND r.id >= '${FIRST_RECURRING_ID}' AND r.deleted_at IS NULL
    ORDER BY r.id LIMIT $2
  ) j, LATERAL (SELECT q.* FROM plans q WHERE q.job_id = j.id OFFSET 0) p ORDER BY j.id`;

/** See StoreQueries.recurringJobs. */
export async function recurringJobs(db: Connections, after: JobId | null, limit: number): Promise<RecurringJob[]> {
  const rows = await db.run("query", { text: JOBS, values: [after ?? FIRST_RECURRING_ID, limit] });
  return rows.flatMap((row) => {
    const { jobId, tenant, name, version, createdAt, updatedAt, plan } = jobSummary(row);
    const { recurrence } = definitionOf(row);
    if (plan === null || recurrence === null) return [];
    return { jobId, tenant, name, version, createdAt, updatedAt, recurrence, plan };
  });
}

/**
 * One lookup in each index for each range, because the planner might choose otherwise. Ranges of skipped instants do
 * not overlap.
 */
const TRACES = `
  SELECT w.place, t.is_skip, t.from_at, t.to_at
  FROM unnest($1::uuid[], $2::int8[], $3::int8[]) WITH ORDINALITY w (job_id, since, until, place), LATERAL (
    (SELECT false AS is_skip, e.scheduled_at AS from_at, e.scheduled_at AS to_at FROM executions e
      WHERE e.job_id = w.job_id AND e.scheduled_at >= w.since AND e.scheduled_at < w.until AND ${IS_PLANNED}
      ORDER BY e.scheduled_at LIMIT $4)
    UNION ALL
    (SELECT true, s.from_at, s.to_at FROM skips s
      WHERE s.job_id = w.job_id AND s.from_at < w.until AND s.to_at >= w.since AND s.from_at >=
        coalesce((SELECT max(f.from_at) FROM skips f WHERE f.job_id = w.job_id AND f.from_at < w.since), w.since)
      ORDER BY s.from_at LIMIT $4)
  ) t`;

/** See StoreQueries.traces. */
export async function traces(db: Connections, asked: readonly JobStretch[], limit: number): Promise<InstantTraces[]> {
  const found: InstantTraces[] = asked.map(() => ({ fired: [], skipped: [] }));
  const values = [
    uuids(asked, ({ jobId }) => jobId),
    int8s(asked, ({ since }) => since),
    int8s(asked, ({ until }) => until),
    limit,
  ];
  const rows = await db.run("query", { name: "read_traces", text: TRACES, values });
  for (const [place, isSkip, from, to] of rows as [number, boolean, EpochMs, EpochMs][]) {
    const { fired, skipped } = found[place - 1] as InstantTraces;
    if (isSkip) skipped.push({ from, to });
    else fired.push(from);
  }
  return found;
}
