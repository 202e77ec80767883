import type { EpochMs, ExecutionId, Incarnation } from "../../../domain/ids.ts";
import { defaultPool } from "../../../domain/pool.ts";
import { rankOf } from "../../../domain/rank.ts";
import type { NewJob } from "../../../ports/store.ts";
import type {
  Advance,
  DeadLetter,
  DeadLetterAction,
  DeadLetterFilter,
  DeadLetterRun,
  NewDeadLetterRun,
  SettledLetter,
  Settlement,
} from "../../../ports/store-dead-letters.ts";
import type { Listing, Page } from "../../../ports/store-queries.ts";
import { inboxOfReplays, type Replay } from "../../../ports/told-events.ts";
import { byText } from "../sorted-list.ts";
import type { StoreData } from "../store-data.ts";
import { type ExecutionRow, isNode, newRow } from "./execution-row.ts";
import { listing, summary } from "./queries.ts";

/** A dead-letter run as the store keeps it. */
export type StoredRun = DeadLetterRun & { marker: ExecutionId };

/** One examined letter. `newId` null: there is no replay. */
type Judged = { executionId: ExecutionId; newId: ExecutionId | null; isSettled: boolean; isRun: boolean };

export function list(data: StoreData, tenant: string, filter: DeadLetterFilter, page: Page): Listing<DeadLetter> {
  const rows: ExecutionRow[] = [];
  data.executions.newestFirst(page.after, (row) => {
    if (isOpen(row) && matches(row, tenant, filter)) rows.push(row);
    return rows.length <= page.limit;
  });
  const letters = rows.map((row): DeadLetter => ({ ...summary(row), error: row.error }));
  return listing(letters, page.limit, (item) => item.executionId);
}

export function settle(data: StoreData, by: Incarnation, asked: Settlement): SettledLetter[] {
  const { tenant, action, executionIds, newIds, at } = asked;
  const rows = [...new Set(executionIds)]
    .sort(byText)
    .map((id) => data.executions.get(id))
    .filter((row) => row !== undefined && row.job.tenant === tenant && maySettle(data, action, row)) as ExecutionRow[];
  const judged = new Map(judge(data, by, action, rows, newIds, at).map((letter) => [letter.executionId, letter]));
  return executionIds.map((executionId) => {
    const letter = judged.get(executionId);
    const outcome = letter === undefined ? otherOutcome(data, asked, executionId) : outcomeOf(letter);
    return { executionId, outcome, newId: letter?.newId ?? null };
  });
}

function outcomeOf({ isSettled, isRun }: Judged): SettledLetter["outcome"] {
  if (isSettled) return "SETTLED";
  return isRun ? "OF_WORKFLOW" : "KEY_HELD";
}

/** Outcome of an id that names no dead letter. */
function otherOutcome(data: StoreData, { tenant, action }: Settlement, id: ExecutionId): SettledLetter["outcome"] {
  const row = data.executions.get(id);
  const isDeadNode = row !== undefined && isNode(row) && row.state === "DEAD" && row.job.tenant === tenant;
  return isDeadNode && action === "REPLAY" ? "OF_WORKFLOW" : "NOT_A_DEAD_LETTER";
}

export function begin(data: StoreData, run: NewDeadLetterRun): void {
  if (data.deadLetterRuns.has(run.runId)) return;
  data.deadLetterRuns.set(run.runId, { ...run, settled: 0, skipped: 0, finishedAt: null, marker: "" });
}

export function advance(
  data: StoreData,
  by: Incarnation,
  runId: string,
  newIds: readonly ExecutionId[],
  at: EpochMs,
): Advance | null {
  const run = data.deadLetterRuns.get(runId);
  if (run === undefined || run.finishedAt !== null) return null;
  const rows = [...data.executions.all()]
    .filter((row) => row.id > run.marker && row.job.createdAt < run.createdAt)
    .filter((row) => maySettle(data, run.action, row) && matches(row, run.tenant, run.filter))
    .sort((a, b) => byText(a.id, b.id))
    .slice(0, newIds.length);
  const judged = judge(data, by, run.action, rows, newIds, at);
  const settled = judged.filter(({ isSettled }) => isSettled);
  const isOver = rows.length < newIds.length;
  data.deadLetterRuns.set(runId, {
    ...run,
    settled: run.settled + settled.length,
    skipped: run.skipped + judged.length - settled.length,
    finishedAt: isOver ? at : null,
    marker: rows.at(-1)?.id ?? run.marker,
  });
  return { made: settled.map(({ newId }) => newId).filter((id) => id !== null), isOver };
}

export function readRun(data: StoreData, tenant: string, runId: string): DeadLetterRun | null {
  const run = data.deadLetterRuns.get(runId);
  if (run === undefined || run.tenant !== tenant) return null;
  const { marker: _, ...told } = run;
  return told;
}

export function openRuns(data: StoreData): string[] {
  const open = [...data.deadLetterRuns.values()].filter(({ finishedAt }) => finishedAt === null);
  return open.map(({ runId }) => runId).sort(byText);
}

/** @param rows dead letters, in order of their ids */
function judge(
  data: StoreData,
  by: Incarnation,
  action: DeadLetterAction,
  rows: readonly ExecutionRow[],
  newIds: readonly ExecutionId[],
  at: EpochMs,
): Judged[] {
  const letters: ExecutionRow[] = [];
  const made: ExecutionRow[] = [];
  const judged = rows.map((row, place): Judged => {
    const isRun = row.node !== null;
    if (isRun && action === "REPLAY") return { executionId: row.id, newId: null, isSettled: false, isRun };
    const replay = action === "REPLAY" ? replayOf(data, row, newIds[place] as ExecutionId, at) : null;
    if (replay !== null && data.uniqueKeys.isHeld(replay.job)) {
      return { executionId: row.id, newId: null, isSettled: false, isRun };
    }
    if (replay !== null) {
      data.executions.insert(replay);
      if (replay.job.definition.uniqueKey !== null) data.uniqueKeys.take(replay.job);
      made.push(replay);
    }
    data.executions.replace(row, { ...row, settled: action, updatedAt: at });
    letters.push(row);
    return { executionId: row.id, newId: replay?.id ?? null, isSettled: true, isRun };
  });
  if (made.length > 0) data.leave(() => inboxOfReplays(made.map(replayFrom)));
  data.tell({ kind: "SETTLED", at: data.now(), by, action, letters, rows: made });
  return judged;
}

function replayFrom({ id: executionId, job, jobVersion }: ExecutionRow): Replay {
  return { ...job, executionId, jobVersion };
}

function replayOf(
  data: StoreData,
  { id, job, jobVersion }: ExecutionRow,
  newId: ExecutionId,
  at: EpochMs,
): ExecutionRow {
  const { definition } = job;
  const policy = { ...definition.policy, startBefore: null };
  const again: NewJob = {
    ...job,
    executionId: newId,
    definition: { ...definition, scheduledAt: at, policy },
    rank: rankOf(data.pools.get(definition.pool) ?? defaultPool(definition.pool), at, definition.priority),
    queue: "READY",
    createdAt: at,
  };
  return newRow(again, { trigger: "RETRY", retryOf: id, jobVersion });
}

/** Whether a row is a dead letter. The dead letter of a workflow is its run, and not a node. */
function isOpen(row: ExecutionRow): boolean {
  return row.state === "DEAD" && row.settled === null && !isNode(row);
}

/** Whether a letter may be settled. Letters of a deleted job are not replayed. */
function maySettle(data: StoreData, action: DeadLetterAction, row: ExecutionRow): boolean {
  if (!isOpen(row)) return false;
  return action === "DISCARD" || data.jobs.get(row.job.jobId)?.deletedAt === null;
}

function matches(row: ExecutionRow, tenant: string, filter: DeadLetterFilter): boolean {
  const { pool, handler, jobId, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
  const { definition } = row.job;
  const diedAt = row.finishedAt ?? 0;
  return (
    row.job.tenant === tenant &&
    (pool === undefined || definition.pool === pool) &&
    (handler === undefined || definition.handler === handler) &&
    (jobId === undefined || row.job.jobId === jobId) &&
    diedAt >= since &&
    diedAt < until
  );
}
