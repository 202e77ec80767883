import type { AuditNote } from "../../../ports/store-audit.ts";
import {
  added,
  type BeginOutcome,
  type Chunk,
  type ChunkOutcome,
  type ExecutionRun,
  type ExecutionRunAction,
  type Held,
  type HeldRun,
  type NewExecutionRun,
  OPEN_RUNS_MAX,
  type StoreExecutionRuns,
} from "../../../ports/store-execution-runs.ts";
import type { BoundedCount, Listing, Page } from "../../../ports/store-queries.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import { persistently } from "../connection/persistently.ts";
import { listing } from "../connection/query.ts";
import { LAST_ID } from "./list-walk.ts";

/** Time for which a finished run stays readable, in milliseconds. */
const RUN_KEPT_MS = 7 * 86_400_000;
const ACTION_CODES: Record<ExecutionRunAction, number> = { CANCEL: 1, RETRY: 2 };

const COLUMNS = "id, tenant, action, filter, expected, created_at, done, refusals, stopped, finished_at";
const REMOVE_OLD = `DELETE FROM execution_runs WHERE tenant = $1 AND finished_at < $2::bigint - ${RUN_KEPT_MS}`;
const KNOWN = `SELECT ${COLUMNS} FROM execution_runs WHERE tenant = $1 AND (id = $2 OR idempotency_key = $3)`;
const BEGIN = `INSERT INTO execution_runs (id, tenant, action, filter, idempotency_key, expected, created_at)
  SELECT $1, $2, $3, $4, $5, $6, $7
  WHERE (SELECT count(*) FROM execution_runs WHERE tenant = $2 AND finished_at IS NULL) < ${OPEN_RUNS_MAX}
  ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`;
const READ = `SELECT ${COLUMNS} FROM execution_runs WHERE tenant = $1 AND id = $2`;
const LIST = `SELECT ${COLUMNS} FROM execution_runs WHERE tenant = $1 AND id < $2 ORDER BY id DESC LIMIT $3`;
const STOP = `UPDATE execution_runs SET stopped = true, finished_at = $3
  WHERE tenant = $1 AND id = $2 AND finished_at IS NULL RETURNING ${COLUMNS}`;
const OPEN = `SELECT id FROM execution_runs WHERE finished_at IS NULL AND held_until <= $1
  ORDER BY held_until, id LIMIT 100`;
const TAKE = `UPDATE execution_runs SET turn = turn + 1, held_until = $3
  WHERE id = $1 AND finished_at IS NULL AND held_until <= $2 RETURNING ${COLUMNS}, turn, marker, chunk`;
const PLAN = `UPDATE execution_runs SET chunk = $3, held_until = $4
  WHERE id = $1 AND turn = $2 AND finished_at IS NULL RETURNING id`;
/** Locks the run before its counts are read. The chunk is NULL once its outcome is stored. */
const LOCK = `SELECT refusals, finished_at FROM execution_runs
  WHERE id = $1 AND turn = $2 AND chunk IS NOT NULL FOR UPDATE`;
const ACCOUNT = `UPDATE execution_runs SET chunk = NULL, marker = $2, done = done + $3, refusals = $4, finished_at = $5
  WHERE id = $1`;

/** See StoreExecutionRuns. */
export function executionRuns(db: Connections, trail: AuditTrail): StoreExecutionRuns {
  return {
    begin: (run, note) => persistently(() => begin(trail, run, note)),
    get: (tenant, runId) => read(db, tenant, runId),
    list: (tenant, page) => list(db, tenant, page),
    stop: async (tenant, runId, at, note) => {
      await trail.run("query", note, { text: STOP, values: [tenant, runId, at] });
      return read(db, tenant, runId);
    },
    open: async (now) => (await db.run("query", { text: OPEN, values: [now] })).map(([id]) => id as string),
    take: async (runId, now, until) => {
      const [row] = await db.run("query", { text: TAKE, values: [runId, now, until] });
      return row === undefined ? null : heldFrom(row);
    },
    plan: async ({ runId, turn }, chunk, until) => {
      const values = [runId, turn, JSON.stringify(chunk), until];
      return (await db.run("query", { text: PLAN, values })).length > 0;
    },
    account: (held, outcome, at, isOver) =>
      persistently(() => db.transaction("query", (session) => account(session, held, outcome, isOver ? at : null))),
  };
}

async function begin(trail: AuditTrail, run: NewExecutionRun, note: AuditNote | undefined): Promise<BeginOutcome> {
  const { runId, tenant, action, filter, idempotencyKey, expected, createdAt } = run;
  return await trail.transaction(
    "query",
    note,
    async (session): Promise<BeginOutcome> => {
      await session.run({ text: REMOVE_OLD, values: [tenant, createdAt] });
      const count = expected === null ? null : JSON.stringify(expected);
      const values = [runId, tenant, ACTION_CODES[action], filter, idempotencyKey, count, createdAt];
      const known = { text: KNOWN, values: [tenant, runId, idempotencyKey] };
      let [row] = await session.run(known);
      if (row === undefined) {
        const [begun] = await session.run({ text: BEGIN, values });
        if (begun !== undefined) return { kind: "BEGUN", run: runFrom(begun) };
        // Another request with the same key was faster, or the tenant has too many open runs.
        [row] = await session.run(known);
      }
      if (row === undefined) return { kind: "TOO_MANY" };
      const first = runFrom(row);
      return first.action === action && first.filter === filter
        ? { kind: "KNOWN", run: first }
        : { kind: "KEY_REUSED" };
    },
    ({ kind }) => kind === "BEGUN",
  );
}

async function read(db: Connections, tenant: string, runId: string): Promise<ExecutionRun | null> {
  const [row] = await db.run("query", { text: READ, values: [tenant, runId] });
  return row === undefined ? null : runFrom(row);
}

async function list(db: Connections, tenant: string, { after, limit }: Page): Promise<Listing<ExecutionRun>> {
  const rows = await db.run("list", { text: LIST, values: [tenant, after ?? LAST_ID, limit + 1] });
  return listing(rows.map(runFrom), limit, ({ runId }) => runId);
}

async function account(
  session: Session,
  { runId, turn }: Held,
  { done, refusals, next }: ChunkOutcome,
  endsAt: number | null,
): Promise<boolean> {
  const [row] = await session.run({ text: LOCK, values: [runId, turn] });
  if (row === undefined) return false;
  const [before, finishedAt] = row as [string, number | null];
  const sum = JSON.stringify(added(JSON.parse(before) as Record<string, number>, refusals));
  await session.run({ text: ACCOUNT, values: [runId, next, done, sum, finishedAt ?? endsAt] });
  return finishedAt === null;
}

function heldFrom(row: Row): HeldRun {
  const run = runFrom(row);
  const [turn, marker, chunk] = row.slice(-3) as [number, string | null, string | null];
  return { runId: run.runId, turn, run, marker, chunk: chunk === null ? null : (JSON.parse(chunk) as Chunk) };
}

function runFrom(row: Row): ExecutionRun {
  const [runId, tenant, action, filter, expected, createdAt, done, refusals, isStopped, finishedAt] = row as [
    ...[string, string, number, string, string | null, number, number, string, boolean, number | null],
  ];
  return {
    ...{ runId, tenant, filter, createdAt, done, isStopped, finishedAt },
    action: action === ACTION_CODES.CANCEL ? "CANCEL" : "RETRY",
    expected: expected === null ? null : (JSON.parse(expected) as BoundedCount),
    refusals: JSON.parse(refusals) as Record<string, number>,
  };
}
