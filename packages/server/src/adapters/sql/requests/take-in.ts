import { chunked } from "../../../ports/chunks.ts";
import type { NewJob, Submission, SubmitOutcome } from "../../../ports/store.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type {
  OpenRequest,
  RequestEnd,
  RequestJudge,
  TakeInLimits,
  TakenRequest,
} from "../../../ports/store-requests.ts";
import type { AnyJob } from "../../../ports/store-runs.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { RaisedLevels } from "../commit/raised-levels.ts";
import { bools, int2s, texts, uuids } from "../connection/arrays.ts";
import { bisected } from "../connection/bisect.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";
import { isDataError } from "../connection/errors.ts";
import { persistently } from "../connection/persistently.ts";
import { type EventInbox, withEvents } from "../events/inbox.ts";
import { isOnce } from "../jobs/job-columns.ts";
import { INSERT_EXECUTIONS, INSERT_JOBS, insertValues, NEW_JOBS } from "../submit/insert.ts";
import { bytesOf, insertAll, raiseLevels, refused, STATEMENT } from "../submit/submit.ts";
import { isKeyed, isVanishedKey, submitWithin, takenOutcome } from "../submit/submit-keyed.ts";
import { OPEN_COLUMNS, openRequestFrom, REQUEST_STATE_CODES } from "./request-rows.ts";

/**
 * Locks the oldest open requests that no other transaction has locked, and reads as many of them as are wanted. A request that
 * commits late is among the oldest then, so none is missed.
 */
export const CLAIM_REQUESTS = `
  WITH open AS MATERIALIZED (
    SELECT ${OPEN_COLUMNS}, bytes FROM job_requests WHERE state = ${REQUEST_STATE_CODES.ACCEPTED}
    ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
  ), summed AS (SELECT *, sum(bytes) OVER (ORDER BY id) AS total FROM open)
  SELECT ${OPEN_COLUMNS} FROM summed WHERE total <= $2 OR total = bytes ORDER BY id`;

export const END_REQUESTS = `
  UPDATE job_requests r SET state = e.state, finished_at = $7, job_id = e.job_id, execution_id = e.execution_id,
    deduplicated = e.deduplicated, problem = e.problem,
    body = CASE e.state WHEN ${REQUEST_STATE_CODES.REFUSED} THEN r.body END
  FROM (SELECT unnest($1::uuid[]) AS id, unnest($2::int2[]) AS state, unnest($3::uuid[]) AS job_id,
    unnest($4::uuid[]) AS execution_id, unnest($5::bool[]) AS deduplicated, unnest($6::text[]) AS problem) e
  WHERE r.id = e.id`;

/** Inserts jobs whose ids are those of open requests, together with the ends of these requests. */
export const TAKE = `
  WITH n AS MATERIALIZED (${NEW_JOBS}), j AS (${INSERT_JOBS}), r AS (
    UPDATE job_requests r SET state = ${REQUEST_STATE_CODES.TAKEN_IN}, finished_at = $21::int8, job_id = n.job_id,
      execution_id = n.id, deduplicated = false, body = NULL
    FROM n WHERE r.id = n.job_id
  ) ${INSERT_EXECUTIONS}`;

export interface TakeInParts {
  levels: RaisedLevels;
  inbox: EventInbox;
  now: () => number;
}

/**
 * See StoreRequests.takeIn. One transaction holds the requests, inserts their jobs and writes their ends. If the store refuses
 * the data of a job, the transaction begins again, and looks for the job by halves.
 */
export async function takeIn(
  db: Pick<Connections, "transactionFrom">,
  trail: Pick<AuditTrail, "record">,
  { count, bytes }: TakeInLimits,
  judge: RequestJudge,
  parts: TakeInParts,
): Promise<TakenRequest[]> {
  const claim = { name: "claim_requests", text: CLAIM_REQUESTS, values: [count, bytes] };
  const { taken } = await carefully((isCareful) =>
    db.transactionFrom(
      "submit",
      claim,
      (rows, session) => takeInWithin(session, rows.map(openRequestFrom), judge, parts, isCareful),
      async ({ taken, last }, session, commit) => {
        const notes = notesOf(taken, judge);
        if (notes.length === 0) return await commitWith(last, session, commit);
        if (last !== null) await session.run(last);
        await trail.record(notes, session, commit);
      },
    ),
  );
  return taken;
}

/**
 * Sends the last statement and the commit together. The statement writes all that has the same fate, so the commit need not wait for its
 * answer. The answer of the commit is awaited in any case, because the requests are locked until then.
 */
async function commitWith(last: Statement | null, session: Session, commit: () => Promise<void>): Promise<void> {
  const answers = await Promise.allSettled([...(last === null ? [] : [session.run(last)]), commit()]);
  for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
}

/**
 * Runs a transaction of submits. If the store refuses its data, it begins again with `isCareful`, and then has to find the offending
 * submission.
 */
export async function carefully<T>(transaction: (isCareful: boolean) => Promise<T>): Promise<T> {
  const attempt = (isCareful: boolean) => persistently(() => transaction(isCareful), isVanishedKey);
  try {
    return await attempt(false);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return await attempt(true);
  }
}

/** @returns the requests with their ends, and a statement that is still to run: it writes jobs and the ends of their requests; null: none */
async function takeInWithin(
  session: Session,
  requests: readonly OpenRequest[],
  judge: RequestJudge,
  parts: TakeInParts,
  isCareful: boolean,
): Promise<{ taken: TakenRequest[]; last: Statement | null }> {
  if (requests.length === 0) return { taken: [], last: null };
  const decisions = await judge.decide(requests);
  const submissions = decisions.filter((decision) => "jobs" in decision);
  const ids = new Set(requests.map(({ id }) => id));
  // A job with another id than its request is written by itself.
  const certain = isCareful ? [] : submissions.filter(isCertain).filter(({ jobs: [job] }) => ids.has(job.jobId));
  const direct = new Set<Submission | RequestEnd>(certain);
  const others = submissions.filter((submission) => !direct.has(submission));
  const outcomes = await writeSubmissions(session, others, parts, isCareful);
  for (const submission of certain) outcomes.set(submission, takenOutcome(submission));
  const taken = decisions.map((decision, i) =>
    takenRequest((requests[i] as OpenRequest).id, decision, outcomes, judge),
  );
  const ended = taken.filter((_, i) => !direct.has(decisions[i] as Submission | RequestEnd));
  const now = Math.floor(parts.now());
  if (ended.length > 0) await session.run({ name: "end_requests", text: END_REQUESTS, values: endValues(ended, now) });
  return { taken, last: await taking(session, certain, now, parts) };
}

/** A submission that can only be accepted: one job that runs once and has no key. */
type Certain = Submission & { jobs: readonly [NewJob] };

export function isCertain(decision: Submission | RequestEnd): decision is Certain {
  if (!("jobs" in decision)) return false;
  const [job] = decision.jobs;
  return job !== undefined && isOnce(job) && !isKeyed(decision);
}

/** Writes jobs together with the ends of their requests. @returns the last of the statements, which is still to run; null: there is none */
async function taking(
  session: Session,
  certain: readonly Certain[],
  now: number,
  { levels, inbox }: TakeInParts,
): Promise<Statement | null> {
  await raiseLevels(levels, certain);
  const isTelling = await inbox.begin();
  const packs = chunked(
    certain.flatMap(({ jobs }) => jobs),
    STATEMENT,
    (job) => ({ count: 1, bytes: bytesOf([job]) }),
  );
  let last: Statement | null = null;
  for (const pack of packs) {
    if (last !== null) await session.run(last);
    last = { name: "take", text: TAKE, values: [...insertValues(pack), now] };
    if (isTelling) last = withEvents(last, pack);
  }
  return last;
}

/** Writes submissions in the transaction of the session. @param isCareful whether those that the store refuses are found by halves */
export async function writeSubmissions(
  session: Session,
  submissions: readonly Submission[],
  { levels, inbox, now }: TakeInParts,
  isCareful: boolean,
): Promise<Map<Submission, SubmitOutcome>> {
  await raiseLevels(levels, submissions);
  const isTelling = await inbox.begin();
  const insert = (_: Session, jobs: readonly AnyJob[]) => insertAll(session, jobs, isTelling);
  const submit = (some: readonly Submission[]) => submitWithin(session, some, now(), insert);
  const answers = isCareful
    ? await bisected(submissions, (some) => saved(session, () => submit(some)), refused)
    : await submit(submissions);
  return new Map(submissions.map((submission, i) => [submission, answers[i] as SubmitOutcome]));
}

/** Runs work that leaves the transaction usable if it is refused. */
async function saved<T>(session: Session, run: () => Promise<T>): Promise<T> {
  await session.run({ text: "SAVEPOINT whole" });
  try {
    return await run();
  } catch (error) {
    await session.run({ text: "ROLLBACK TO whole" });
    throw error;
  }
}

export function takenRequest(
  id: string,
  decision: Submission | RequestEnd,
  outcomes: ReadonlyMap<Submission, SubmitOutcome>,
  judge: Pick<RequestJudge, "conclude">,
): TakenRequest {
  if ("state" in decision) return { id, end: decision, submitted: null };
  const outcome = outcomes.get(decision) as SubmitOutcome;
  return { id, end: judge.conclude(outcome), submitted: { submission: decision, outcome } };
}

/** Facts for the audit log about what was taken in. */
export function notesOf(taken: readonly TakenRequest[], judge: Pick<RequestJudge, "notesOf">): readonly AuditNote[] {
  return judge.notesOf?.(taken.flatMap(({ submitted }) => submitted?.submission ?? [])) ?? [];
}

function endValues(taken: readonly TakenRequest[], now: number): unknown[] {
  const jobOf = ({ end }: TakenRequest) => (end.state === "TAKEN_IN" ? end : null);
  return [
    uuids(taken, ({ id }) => id),
    int2s(taken, ({ end }) => REQUEST_STATE_CODES[end.state]),
    uuids(taken, (request) => jobOf(request)?.jobId ?? null),
    uuids(taken, (request) => jobOf(request)?.executionId ?? null),
    bools(taken, (request) => jobOf(request)?.deduplicated ?? null),
    texts(taken, ({ end }) => (end.state === "REFUSED" ? end.problem : null)),
    now,
  ];
}
