import type { Submission, SubmitOutcome } from "../../../ports/store.ts";
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
import type { Session } from "../connection/connections.ts";
import { isDataError } from "../connection/errors.ts";
import { persistently } from "../connection/persistently.ts";
import type { EventInbox } from "../events/inbox.ts";
import { insertAll, raiseLevels, refused } from "../submit/submit.ts";
import { isVanishedKey, submitWithin } from "../submit/submit-keyed.ts";
import { OPEN_COLUMNS, openRequestFrom, REQUEST_STATE_CODES } from "./request-rows.ts";

/**
 * Locks the oldest open requests that no other transaction has locked, and reads as many of them as are wanted. A request that
 * commits late is among the oldest then, so none is missed.
 */
const CLAIM_REQUESTS = `
  WITH open AS MATERIALIZED (
    SELECT ${OPEN_COLUMNS}, bytes FROM job_requests WHERE state = ${REQUEST_STATE_CODES.ACCEPTED}
    ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
  ), summed AS (SELECT *, sum(bytes) OVER (ORDER BY id) AS total FROM open)
  SELECT ${OPEN_COLUMNS} FROM summed WHERE total <= $2 OR total = bytes ORDER BY id`;

const END_REQUESTS = `
  UPDATE job_requests r SET state = e.state, finished_at = $7, job_id = e.job_id, execution_id = e.execution_id,
    deduplicated = e.deduplicated, problem = e.problem,
    body = CASE e.state WHEN ${REQUEST_STATE_CODES.REFUSED} THEN r.body END
  FROM (SELECT unnest($1::uuid[]) AS id, unnest($2::int2[]) AS state, unnest($3::uuid[]) AS job_id,
    unnest($4::uuid[]) AS execution_id, unnest($5::bool[]) AS deduplicated, unnest($6::text[]) AS problem) e
  WHERE r.id = e.id`;

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
  trail: Pick<AuditTrail, "concluded">,
  limits: TakeInLimits,
  judge: RequestJudge,
  parts: TakeInParts,
): Promise<TakenRequest[]> {
  return await carefully(
    trail,
    (session, isCareful) => takeInWithin(session, limits, judge, parts, isCareful),
    (taken) => notesOf(taken, judge),
  );
}

/**
 * Runs a transaction of submits. If the store refuses its data, it begins again with `isCareful`, and then has to find the offending
 * submission.
 * @param notes facts to be recorded in the transaction
 */
export async function carefully<T>(
  trail: Pick<AuditTrail, "concluded">,
  work: (session: Session, isCareful: boolean) => Promise<T>,
  notes: (answer: T) => readonly AuditNote[],
): Promise<T> {
  const attempt = (isCareful: boolean) =>
    persistently(() => trail.concluded("submit", (session) => work(session, isCareful), notes), isVanishedKey);
  try {
    return await attempt(false);
  } catch (error) {
    if (!isDataError(error)) throw error;
    return await attempt(true);
  }
}

async function takeInWithin(
  session: Session,
  { count, bytes }: TakeInLimits,
  judge: RequestJudge,
  parts: TakeInParts,
  isCareful: boolean,
): Promise<TakenRequest[]> {
  const rows = await session.run({ name: "claim_requests", text: CLAIM_REQUESTS, values: [count, bytes] });
  if (rows.length === 0) return [];
  const requests = rows.map(openRequestFrom);
  const decisions = await judge.decide(requests);
  const submissions = decisions.filter((decision) => "jobs" in decision);
  const outcomes = await writeSubmissions(session, submissions, parts, isCareful);
  const taken = decisions.map((decision, i) =>
    takenRequest((requests[i] as OpenRequest).id, decision, outcomes, judge),
  );
  await session.run({ name: "end_requests", text: END_REQUESTS, values: endValues(taken, parts.now()) });
  return taken;
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
    Math.floor(now),
  ];
}
