import type { ExecutionError } from "../../../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type {
  Advance,
  DeadLetter,
  DeadLetterAction,
  DeadLetterFilter,
  DeadLetterRun,
  NewDeadLetterRun,
  SettledLetter,
  Settlement,
  StoreDeadLetters,
} from "../../../ports/store-dead-letters.ts";
import type { Listing, Page } from "../../../ports/store-queries.ts";
import { inboxOfReplays, type Replay } from "../../../ports/told-events.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { policyFrom } from "../commit/candidates.ts";
import { IS_OPEN, settleStatement } from "../commit/settle-statement.ts";
import { STATE_CODES } from "../connection/codes.ts";
import type { Connections, Row, Session, Statement } from "../connection/connections.ts";
import { persistently } from "../connection/persistently.ts";
import { Conditions, listing } from "../connection/query.ts";
import type { EventInbox } from "../events/inbox.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "./execution-rows.ts";
import { ofTenant } from "./list-walk.ts";

const FIRST_ID = "00000000-0000-0000-0000-000000000000";
/** Time for which a finished run stays readable, in milliseconds. */
const RUN_KEPT_MS = 7 * 86_400_000;
const ACTION_CODES: Record<DeadLetterAction, number> = { REPLAY: 1, DISCARD: 2 };

const RUN_COLUMNS = "id, tenant, action, filter, created_at, settled, skipped, finished_at";
const BEGIN = `
  WITH old AS (DELETE FROM dead_letter_runs WHERE finished_at < $5::bigint - ${RUN_KEPT_MS})
  INSERT INTO dead_letter_runs (id, tenant, action, filter, created_at, marker)
  VALUES ($1, $2, $3, $4, $5, '${FIRST_ID}') ON CONFLICT DO NOTHING RETURNING id`;
const DEAD_NODES = `SELECT id FROM executions
  WHERE id = ANY($1::uuid[]) AND tenant = $2 AND node >= 0 AND state = ${STATE_CODES.DEAD}`;
/** Executions that a statement of the same transaction has created; a discard creates none. */
const READ_REPLAYS = `SELECT id, job_id, shard, tenant, pool, handler, scheduled_at, created_at, job_version, policy
  FROM executions WHERE id = ANY($1::uuid[]) ORDER BY id`;
const OPEN_RUNS = "SELECT id FROM dead_letter_runs WHERE finished_at IS NULL ORDER BY id LIMIT 100";
const READ_RUN = `SELECT ${RUN_COLUMNS} FROM dead_letter_runs WHERE id = $1 AND tenant = $2`;
/** Takes the run. Another node that wants to continue the same run leaves it to the holder of the lock. */
const TAKE_RUN = `SELECT ${RUN_COLUMNS}, marker FROM dead_letter_runs WHERE id = $1 AND finished_at IS NULL
  FOR UPDATE SKIP LOCKED`;
const ADVANCE_RUN = `UPDATE dead_letter_runs SET marker = $2, settled = settled + $3, skipped = skipped + $4,
  finished_at = $5 WHERE id = $1`;

/** One letter that a statement has examined. */
type Judged = [executionId: ExecutionId, newId: ExecutionId, settled: boolean, isRun: boolean];

export function deadLetters(db: Connections, trail: AuditTrail, inbox: EventInbox): StoreDeadLetters {
  return {
    list: (tenant, filter, page) => list(db, tenant, filter, page),
    settle: (asked, note) => persistently(() => settle(db, trail, asked, inbox, note)),
    begin: (run, note) => begin(trail, run, note),
    advance: (runId, newIds, at) =>
      persistently(() => db.transaction("submit", (session) => advance(session, runId, newIds, at, inbox))),
    readRun: async (tenant, runId) => {
      const [row] = await db.run("query", { text: READ_RUN, values: [runId, tenant] });
      return row === undefined ? null : runFrom(row);
    },
    openRuns: async () => (await db.run("query", { text: OPEN_RUNS })).map(([id]) => id as string),
  };
}

async function list(
  db: Connections,
  tenant: string,
  filter: DeadLetterFilter,
  page: Page,
): Promise<Listing<DeadLetter>> {
  const where = matching(tenant, filter);
  if (page.after !== null) where.add("e.id < ?", page.after);
  const text = `SELECT e.error, ${SUMMARY_COLUMNS} FROM executions e WHERE ${IS_OPEN} AND ${where.text}
    ORDER BY e.id DESC LIMIT ${page.limit + 1}`;
  const rows = await db.run("list", { text, values: where.values });
  return listing(rows.map(letterFrom), page.limit, (item) => item.executionId);
}

async function settle(
  db: Connections,
  trail: AuditTrail,
  asked: Settlement,
  inbox: EventInbox,
  note: AuditNote | undefined,
): Promise<SettledLetter[]> {
  const { tenant, action, executionIds, newIds, at } = asked;
  const where = new Conditions().add("e.tenant = ?", tenant).add("e.id = ANY(?::uuid[])", [...new Set(executionIds)]);
  const statement = settleStatement(action, where, newIds, at);
  const isTelling = action === "REPLAY" && (await inbox.begin());
  const rows =
    isTelling || note !== undefined
      ? await trail.transaction("submit", note, (session) => judge(session, statement, inbox), haveSettled)
      : ((await db.run("submit", statement)) as Judged[]);
  const judged = new Map(rows.map((row) => [row[0], row]));
  const others = executionIds.filter((id) => !judged.has(id));
  const nodes = action === "REPLAY" && others.length > 0 ? await deadNodes(db, tenant, others) : new Set();
  return executionIds.map((executionId) => {
    const [, newId, isSettled, isRun] = judged.get(executionId) ?? [];
    if (isSettled) return { executionId, outcome: "SETTLED", newId: action === "REPLAY" ? (newId ?? null) : null };
    if (isRun || nodes.has(executionId)) return { executionId, outcome: "OF_WORKFLOW", newId: null };
    return { executionId, outcome: isSettled === false ? "KEY_HELD" : "NOT_A_DEAD_LETTER", newId: null };
  });
}

function haveSettled(judged: readonly Judged[]): boolean {
  return judged.some(([, , isSettled]) => isSettled);
}

/** Settles letters within a transaction, and leaves the events of their replays. */
async function judge(session: Session, statement: Statement, inbox: EventInbox): Promise<Judged[]> {
  const judged = (await session.run(statement)) as Judged[];
  const made = judged.filter(([, , isSettled]) => isSettled).map(([, newId]) => newId);
  if (made.length > 0 && (await inbox.begin())) {
    const replays = (await session.run({ text: READ_REPLAYS, values: [made] })).map(replayFrom);
    if (replays.length > 0) await inbox.leave(session, () => inboxOfReplays(replays));
  }
  return judged;
}

function replayFrom(row: Row): Replay {
  const [executionId, jobId, shard, tenant, pool, handler, scheduledAt, createdAt, jobVersion, policy] = row as [
    ...[string, string, number, string, string, string, number, number, number, string | null],
  ];
  const definition = { pool, handler, scheduledAt, policy: policyFrom(policy) };
  return { executionId, jobId, shard, tenant, definition, createdAt, jobVersion };
}

/** DEAD nodes of workflows among executions. */
async function deadNodes(db: Connections, tenant: string, ids: readonly ExecutionId[]): Promise<Set<ExecutionId>> {
  const rows = await db.run("query", { text: DEAD_NODES, values: [ids, tenant] });
  return new Set(rows.map(([id]) => id as ExecutionId));
}

async function begin(
  trail: AuditTrail,
  { runId, tenant, action, filter, createdAt }: NewDeadLetterRun,
  note: AuditNote | undefined,
): Promise<void> {
  const values = [runId, tenant, ACTION_CODES[action], JSON.stringify(filter), createdAt];
  await trail.run("submit", note, { text: BEGIN, values });
}

async function advance(
  session: Session,
  runId: string,
  newIds: readonly ExecutionId[],
  at: EpochMs,
  inbox: EventInbox,
): Promise<Advance | null> {
  const [row] = await session.run({ text: TAKE_RUN, values: [runId] });
  if (row === undefined) return null;
  const { tenant, action, filter, createdAt } = runFrom(row);
  const where = matching(tenant, filter).add("e.id > ?", row.at(-1)).add("e.created_at < ?", createdAt);
  const judged = await judge(session, settleStatement(action, where, newIds, at), inbox);
  const settled = judged.filter(([, , isSettled]) => isSettled);
  const isOver = judged.length < newIds.length;
  const marker = judged.at(-1)?.[0] ?? row.at(-1);
  const values = [runId, marker, settled.length, judged.length - settled.length, isOver ? at : null];
  await session.run({ text: ADVANCE_RUN, values });
  return { made: action === "REPLAY" ? settled.map(([, newId]) => newId) : [], isOver };
}

function matching(tenant: string, { pool, handler, jobId, since, until }: DeadLetterFilter): Conditions {
  const where = ofTenant(new Conditions(), "e", tenant);
  if (pool !== undefined) where.add("e.pool = ?", pool);
  if (handler !== undefined) where.add("e.handler = ?", handler);
  if (jobId !== undefined) where.add("e.job_id = ?", jobId);
  if (since !== undefined) where.add("e.finished_at >= ?", since);
  if (until !== undefined) where.add("e.finished_at < ?", until);
  return where;
}

function letterFrom([error, ...row]: Row): DeadLetter {
  return { ...summaryFrom(row), error: error === null ? null : (JSON.parse(error as string) as ExecutionError) };
}

function runFrom(row: Row): DeadLetterRun {
  const [runId, tenant, action, filter, createdAt, settled, skipped, finishedAt] = row as [
    ...[string, string, number, string, number, number, number, number | null],
  ];
  return {
    ...{ runId, tenant, createdAt, settled, skipped, finishedAt },
    action: action === ACTION_CODES.REPLAY ? "REPLAY" : "DISCARD",
    filter: JSON.parse(filter) as DeadLetterFilter,
  };
}
