import type { JobFilter } from "../../../ports/store-queries.ts";
import { PLAN_STATE_CODES } from "../connection/codes.ts";
import type { Session, Statement } from "../connection/connections.ts";
import { FIRST_ID, type IdRange } from "../executions/list-walk.ts";
import { isComplete } from "../schema/late-indexes.ts";

/** Ids of jobs of a range by an index, the newest first; `rest`: whether there are more. */
export type JobSource = (range: IdRange, max: number) => Promise<{ ids: string[]; rest: boolean }>;

const KINDS_MAX = 100;

/**
 * Reader of the ids that match a filter, by the index that is expected to leave the fewest jobs to look at. null: no
 * index fits, or upkeep has not built it yet.
 */
export async function jobSource(session: Session, tenant: string, filter: JobFilter): Promise<JobSource | null> {
  const { name, state, type, handler, pool } = filter;
  if (name !== undefined) return ordered(session, named(tenant, name));
  if (state === "DELETED" && (await isComplete(session, "jobs_deleted"))) return ordered(session, deleted);
  if (state === "PAUSED") return ordered(session, stopped(PLAN_STATE_CODES.PAUSED));
  const isOfKind = handler !== undefined || pool !== undefined;
  if (isOfKind && (await isComplete(session, "jobs_kind"))) return kinds(session, filter);
  return type === "CRON" || type === "INTERVAL" ? ordered(session, typed(type)) : null;
}

/** Recurring jobs that have ended. */
export function finishedPlans(session: Session): JobSource {
  return ordered(session, stopped(PLAN_STATE_CODES.FINISHED));
}

type Select = (range: IdRange, max: number) => Statement;

function ordered(session: Session, select: Select): JobSource {
  return async (range, max) => {
    const ids = (await session.run(select(range, max))).map(([id]) => id as string);
    return { ids, rest: ids.length === max };
  };
}

// Bounds are row comparisons, because equations would let the planner use the primary key's order instead of the
// index's.

const deleted: Select = ({ from, until }, max) => ({
  text: `SELECT j.id FROM jobs j WHERE j.deleted_at IS NOT NULL AND j.id >= $1 AND j.id < $2 ORDER BY j.id DESC LIMIT ${max}`,
  values: [from, until],
});

const stopped =
  (code: number): Select =>
  ({ from, until }, max) => ({
    text: `SELECT p.job_id FROM plans p WHERE (p.state = 2 OR p.state = 3) AND (p.state, p.job_id) >= ($1, $2)
    AND (p.state, p.job_id) < ($1, $3) ORDER BY p.state DESC, p.job_id DESC LIMIT ${max}`,
    values: [code, from, until],
  });

const typed =
  (type: string): Select =>
  ({ from, until }, max) => ({
    text: `SELECT r.id FROM jobs_recurring r WHERE (recurrence_type(r.recurrence), r.id) >= ($1, $2::uuid)
      AND (recurrence_type(r.recurrence), r.id) < ($1, $3::uuid)
      ORDER BY recurrence_type(r.recurrence) DESC, r.id DESC LIMIT ${max}`,
    values: [type, from, until],
  });

const named =
  (tenant: string, name: string): Select =>
  ({ from, until }, max) => ({
    text: `SELECT j.id FROM jobs j WHERE j.name IS NOT NULL AND (j.tenant, j.name, j.id) >= ($1, $2, $3::uuid)
      AND (j.tenant, j.name, j.id) < ($1, $2, $4::uuid) ORDER BY j.tenant DESC, j.name DESC, j.id DESC LIMIT ${max}`,
    values: [tenant, name, from, until],
  });

type Kind = [handler: string, pool: string];

/** Jobs by each combination of handler and pool; null: there are too many combinations. */
async function kinds(session: Session, { handler, pool }: JobFilter): Promise<JobSource | null> {
  const all = handler !== undefined && pool !== undefined ? [[handler, pool] as Kind] : await kindsOf(session, handler);
  if (all === null) return null;
  const wanted = all.filter((kind) => kind[0] === (handler ?? kind[0]) && kind[1] === (pool ?? kind[1]));
  return async (range, max) => {
    const each = Math.max(Math.ceil(max / Math.max(1, wanted.length)), 101);
    const rows = wanted.length === 0 ? [] : await session.run(ofKinds(wanted, range, each));
    return newestOfAll(rows as [id: string, kind: number][], each);
  };
}

const ofKinds = (wanted: readonly Kind[], { from, until }: IdRange, each: number): Statement => ({
  text: `SELECT l.id, k.n::int4 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY k (handler, pool, n), LATERAL (
      SELECT j.id FROM jobs j WHERE (j.handler, j.pool, j.id) >= (k.handler, k.pool, $3::uuid)
        AND (j.handler, j.pool, j.id) < (k.handler, k.pool, $4::uuid)
      ORDER BY j.handler DESC, j.pool DESC, j.id DESC LIMIT ${each}) l`,
  values: [wanted.map(([name]) => name), wanted.map(([, name]) => name), from, until],
});

/**
 * Merges the newest rows of all kinds. If a kind has more rows than were read, its rows older than the last one read
 * are unknown.
 */
function newestOfAll(rows: readonly [id: string, kind: number][], each: number): { ids: string[]; rest: boolean } {
  const last = new Map<number, { id: string; count: number }>();
  for (const [id, kind] of rows) last.set(kind, { id, count: (last.get(kind)?.count ?? 0) + 1 });
  const cut = [...last.values()].filter(({ count }) => count === each).map(({ id }) => id);
  const from = cut.reduce((a, b) => (a > b ? a : b), FIRST_ID);
  const ids = rows.map(([id]) => id).filter((id) => id >= from);
  return { ids: ids.sort((a, b) => (a < b ? 1 : -1)), rest: cut.length > 0 };
}

/** The next kind after another, by one index lookup. */
const nextKind = (after: string) =>
  `SELECT j.handler, j.pool FROM jobs j WHERE ${after} ORDER BY j.handler, j.pool LIMIT 1`;

async function kindsOf(session: Session, handler: string | undefined): Promise<Kind[] | null> {
  const isLast = handler === undefined ? "" : "WHERE k.handler <= $1";
  const text = `WITH RECURSIVE kinds AS (
      (${nextKind(handler === undefined ? "true" : "j.handler >= $1")})
      UNION ALL SELECT n.* FROM kinds k, LATERAL (${nextKind("(j.handler, j.pool) > (k.handler, k.pool)")}) n ${isLast}
    ) SELECT handler, pool FROM kinds LIMIT ${KINDS_MAX + 1}`;
  const rows = await session.run({ text, values: handler === undefined ? [] : [handler] });
  return rows.length > KINDS_MAX ? null : (rows as Kind[]);
}
