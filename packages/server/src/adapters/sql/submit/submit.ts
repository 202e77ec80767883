import { type ChunkLimit, chunked } from "../../../ports/chunks.ts";
import { StoreUnavailable, type Submission, type SubmitOutcome } from "../../../ports/store.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import { type AnyJob, hasGraph, isWorkflow } from "../../../ports/store-runs.ts";
import { inboxOfJobs } from "../../../ports/told-events.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { RaisedLevels } from "../commit/raised-levels.ts";
import { bisected } from "../connection/bisect.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";
import type { Purpose } from "../connection/purposes.ts";
import { type EventInbox, inboxStatement, withEvents } from "../events/inbox.ts";
import { isOnce, isRecurring } from "../jobs/job-columns.ts";
import { bytesOfWorkflow, workflowStatements } from "../workflows/insert-workflows.ts";
import { insertStatement } from "./insert.ts";
import { insertRecurringStatement } from "./insert-recurring.ts";
import { isKeyed, isSingle, submitKeyed, submitSingle } from "./submit-keyed.ts";

/**
 * Largest content of one statement, so that neither side needs unbounded memory for it, nor building it blocks the
 * event loop.
 */
export const STATEMENT: ChunkLimit = { count: 1_000, bytes: 2 * 1024 * 1024 };

/** See Store.submit. Submissions without keys need no transaction of several statements, so they share statements. */
export async function submit(
  connections: Connections,
  trail: AuditTrail,
  levels: RaisedLevels,
  inbox: EventInbox,
  batch: readonly Submission[],
  now: number,
): Promise<SubmitOutcome[]> {
  await raiseLevels(levels, batch);
  const isTelling = await inbox.begin();
  const asking = askedOnce(connections, trail);
  const insert = (session: Session, jobs: readonly AnyJob[]) => insertAll(session, jobs, isTelling);
  const outcomes = new Map<Submission, SubmitOutcome>();
  const plain = batch.filter((submission) => !isKeyed(submission));
  for (const group of groups(plain)) {
    const answers = await bisected(group, (some) => submitPlain(asking(some), some, isTelling), refused);
    for (const [i, submission] of group.entries()) outcomes.set(submission, answers[i] as SubmitOutcome);
  }
  for (const group of groups(batch.filter(isSingle))) {
    const answers = await bisected(group, (some) => submitSingle(asking(some), some, now, insert, isTelling), refused);
    for (const [i, submission] of group.entries()) outcomes.set(submission, answers[i] as SubmitOutcome);
  }
  const keyed = batch.filter((submission) => isKeyed(submission) && !isSingle(submission));
  for (const group of groups(keyed)) {
    const answers = await bisected(group, (some) => submitKeyed(asking(some), some, now, insert), refused);
    for (const [i, submission] of group.entries()) outcomes.set(submission, answers[i] as SubmitOutcome);
  }
  return batch.map((submission) => outcomes.get(submission) as SubmitOutcome);
}

type Asking = Pick<Connections, "run" | "transaction">;

/**
 * The connections, for one batch. Once they have written a part of it, no error says any more that the store was not asked, because
 * the error is that of the whole batch.
 */
function askedOnce(connections: Asking, trail: AuditTrail): (group: readonly Submission[]) => Asking {
  let hasWritten = false;
  const watched = async <T>(work: Promise<T>): Promise<T> => {
    try {
      const answer = await work;
      hasWritten = true;
      return answer;
    } catch (error) {
      if (!hasWritten || !(error instanceof StoreUnavailable) || !error.isUnasked) throw error;
      throw new StoreUnavailable(error.message, { cause: error.cause });
    }
  };
  const plain: Asking = {
    run: (...asked) => watched(connections.run(...asked)),
    transaction: (...asked) => watched(connections.transaction(...asked)),
  };
  return (group) => {
    const notes = group.flatMap(({ note }) => note ?? []);
    return notes.length === 0 ? plain : recorded(plain, notes, (...asked) => watched(trail.noted(...asked)));
  };
}

/** The same connections. The first transaction of a group has the records of the group. */
function recorded(plain: Asking, notes: readonly AuditNote[], noted: AuditTrail["noted"]): Asking {
  let isRecorded = false;
  const transaction = async <T>(purpose: Purpose, use: (session: Session) => Promise<T>) => {
    if (isRecorded) return await plain.transaction(purpose, use);
    const answer = await noted(purpose, notes, use);
    isRecorded = true;
    return answer;
  };
  return { transaction, run: (purpose, statement) => transaction(purpose, (session) => session.run(statement)) };
}

/** Keeps programs out that would harm the jobs. Comes before the jobs are written. */
export async function raiseLevels(levels: RaisedLevels, batch: readonly Submission[]): Promise<void> {
  if (batch.some(({ jobs }) => jobs.some(hasGraph))) await levels.raise("WORKFLOWS");
  if (batch.some(({ jobs }) => jobs.some(hasOnFinish))) await levels.raise("WEBHOOKS");
}

export function refused(_: Submission, error: Error): SubmitOutcome {
  return { kind: "REFUSED", message: error.message };
}

async function submitPlain(db: Asking, group: readonly Submission[], isTelling: boolean): Promise<SubmitOutcome[]> {
  const jobs = group.flatMap((submission) => submission.jobs);
  const [first, ...others] = writesOf(jobs, isTelling);
  if (first !== undefined && others.length === 0) await db.run("submit", first());
  else if (first !== undefined) await db.transaction("submit", (session) => insertAll(session, jobs, isTelling));
  return group.map((submission) => ({
    kind: "ACCEPTED",
    replayed: false,
    jobs: submission.jobs.map(({ jobId, executionId }) => ({ jobId, executionId, deduplicated: false })),
  }));
}

export async function insertAll(session: Session, jobs: readonly AnyJob[], isTelling: boolean): Promise<void> {
  for (const write of writesOf(jobs, isTelling)) await session.run(write());
}

/** Groups of consecutive submissions that fit into one statement; a larger submission is a group of its own. */
function groups<S extends Submission>(submissions: readonly S[]): S[][] {
  return chunked(submissions, STATEMENT, ({ jobs }) => ({ count: countOf(jobs), bytes: bytesOf(jobs) }));
}

/**
 * Functions that each create a statement when it is its turn. Creating all of them at once would block the event loop
 * and need twice the memory of the jobs.
 */
function writesOf(jobs: readonly AnyJob[], isTelling: boolean): (() => Statement)[] {
  const weigh = (job: AnyJob) => ({ count: 1, bytes: bytesOf([job]) });
  const told = (statement: Statement, pack: readonly AnyJob[]) => (isTelling ? withEvents(statement, pack) : statement);
  const once = chunked(jobs.filter(isOnce), STATEMENT, weigh).map((pack) => () => told(insertStatement(pack), pack));
  const recurring = chunked(jobs.filter(isRecurring), STATEMENT, weigh);
  const runs = workflowStatements(jobs.filter(hasGraph), STATEMENT);
  const events = isTelling ? chunked(jobs.filter(isWorkflow), STATEMENT, weigh) : [];
  return [
    ...[...once, ...recurring.map((pack) => () => told(insertRecurringStatement(pack), pack)), ...runs],
    ...events.map((pack) => () => inboxStatement(inboxOfJobs(pack))),
  ];
}

/** Owners that do not know webhooks would end the job without its own. */
function hasOnFinish({ definition }: AnyJob): boolean {
  return definition.policy.onFinish !== undefined;
}

function countOf(jobs: readonly AnyJob[]): number {
  return jobs.reduce((sum, job) => {
    return sum + 1 + (isWorkflow(job) ? job.roots.length : 0) + (hasGraph(job) ? job.payloads.length : 0);
  }, 0);
}

export function bytesOf(jobs: readonly AnyJob[]): number {
  let bytes = 0;
  for (const job of jobs) {
    const { payload, definition } = job;
    bytes += (payload?.length ?? 0) + (hasGraph(job) ? bytesOfWorkflow(job) : 0);
    for (const key in definition.labels) bytes += key.length + (definition.labels[key]?.length ?? 0);
  }
  return bytes;
}
