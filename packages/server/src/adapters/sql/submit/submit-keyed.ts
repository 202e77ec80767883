import { type AcceptedJob, StoreUnavailable, type Submission, type SubmitOutcome } from "../../../ports/store.ts";
import type { AnyJob } from "../../../ports/store-runs.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { persistently } from "../connection/persistently.ts";
import { isKeyedAtOnce, isOnce, isRecurring } from "../jobs/job-columns.ts";
import { claimNames } from "../jobs/job-names.ts";
import { claimIdempotencyKeys, rewriteResponses, withoutClaimed } from "./idempotency-keys.ts";
import { insertClaimedStatement, type KeyedJob } from "./insert.ts";
import { KeyVanished } from "./key-vanished.ts";
import { claimUniqueKeys } from "./unique-keys.ts";

/** The unique key of a recurring job is taken by its executions, and its name by itself. */
export function isKeyed({ idempotency, jobs }: Submission): boolean {
  const keyOf = ({ executionId, definition }: AnyJob) =>
    executionId === null ? definition.name : definition.uniqueKey;
  return idempotency !== null || jobs.some((job) => keyOf(job) !== null);
}

/** Whether the submission is one job that has no key but the submission's own, as most are. */
export function isSingle(submission: Submission): submission is KeyedJob {
  const { idempotency, jobs } = submission;
  const [job] = jobs;
  return (
    idempotency !== null && jobs.length === 1 && job !== undefined && isOnce(job) && job.definition.uniqueKey === null
  );
}

/**
 * Single jobs in one statement; repeats of submissions of earlier, or of the same batch, in a transaction.
 * @param insert inserts jobs, with their events where `isTelling`
 */
export async function submitSingle(
  db: Pick<Connections, "run" | "transaction">,
  batch: readonly KeyedJob[],
  now: number,
  insert: (session: Session, jobs: readonly AnyJob[]) => Promise<void>,
  isTelling = false,
): Promise<SubmitOutcome[]> {
  const { first, repeats } = splitRepeats(batch);
  const claimed = await db.run("submit", insertClaimedStatement(first, now, isTelling));
  const later = [...withoutClaimed(first, claimed), ...repeats];
  const answers = later.length === 0 ? [] : await submitKeyed(db, later, now, insert);
  const outcomes = new Map(later.map((submission, i) => [submission, answers[i] as SubmitOutcome]));
  return batch.map((submission) => outcomes.get(submission) ?? takenOutcome(submission));
}

/** Outcome of a submission whose jobs are all written as they were asked for. */
export function takenOutcome({ jobs }: Submission): SubmitOutcome {
  return { kind: "ACCEPTED", replayed: false, jobs: jobs.map(acceptedAsAsked) };
}

/**
 * Submits submissions with keys, in one transaction. The order in which all transactions claim keys rules out
 * deadlocks: first all idempotency keys, then all unique keys, then all names, each sorted.
 */
export async function submitKeyed(
  db: Pick<Connections, "transaction">,
  batch: readonly Submission[],
  now: number,
  insert: (session: Session, jobs: readonly AnyJob[]) => Promise<void>,
): Promise<SubmitOutcome[]> {
  const { first, repeats } = splitRepeats(batch);
  const outcomes = new Map<Submission, SubmitOutcome>();
  const answers = await persistently(
    () => db.transaction("submit", (session) => attempt(session, first, now, insert)),
    isVanishedKey,
  );
  for (const [i, submission] of first.entries()) outcomes.set(submission, answers[i] as SubmitOutcome);
  if (repeats.length > 0) {
    const later = await submitKeyed(db, repeats, now, insert);
    for (const [i, submission] of repeats.entries()) outcomes.set(submission, later[i] as SubmitOutcome);
  }
  return batch.map((submission) => outcomes.get(submission) as SubmitOutcome);
}

/**
 * Separates repeats: a submission whose idempotency key appears earlier in the same batch gets the answer that the
 * first one stored.
 */
function splitRepeats<S extends Submission>(batch: readonly S[]): { first: S[]; repeats: S[] } {
  const seen = new Set<string>();
  const first: S[] = [];
  const repeats: S[] = [];
  for (const submission of batch) {
    const { idempotency } = submission;
    const name = idempotency === null ? null : JSON.stringify([idempotency.tenant, idempotency.key]);
    (name !== null && seen.has(name) ? repeats : first).push(submission);
    if (name !== null) seen.add(name);
  }
  return { first, repeats };
}

/**
 * Submits submissions in the transaction of the session. A repeat of a submission of the same batch comes after all others, and
 * claims no keys beside its own.
 */
export async function submitWithin(
  session: Session,
  batch: readonly Submission[],
  now: number,
  insert: (session: Session, jobs: readonly AnyJob[]) => Promise<void>,
): Promise<SubmitOutcome[]> {
  const { first, repeats } = splitRepeats(batch);
  const outcomes = new Map<Submission, SubmitOutcome>();
  for (const part of [first, repeats]) {
    const answers = part.length === 0 ? [] : await attempt(session, part, now, insert);
    for (const [i, submission] of part.entries()) outcomes.set(submission, answers[i] as SubmitOutcome);
  }
  return batch.map((submission) => outcomes.get(submission) as SubmitOutcome);
}

/** Whether a key was released between two reads of it. */
export function isVanishedKey(error: unknown): boolean {
  return error instanceof StoreUnavailable && error.cause instanceof KeyVanished;
}

async function attempt(
  session: Session,
  batch: readonly Submission[],
  now: number,
  insert: (session: Session, jobs: readonly AnyJob[]) => Promise<void>,
): Promise<SubmitOutcome[]> {
  const known = await claimIdempotencyKeys(session, batch, now);
  const fresh = batch.filter((submission) => !known.has(submission));
  const jobs = fresh.flatMap((submission) => submission.jobs);
  const keys = await claimUniqueKeys(session, jobs.filter(isKeyedAtOnce));
  const names = await claimNames(session, jobs.filter(isRecurring));
  const holders = new Map<AnyJob, AcceptedJob>([...keys, ...names]);
  await insert(
    session,
    jobs.filter((job) => !holders.has(job)),
  );
  const accepted = new Map<Submission, SubmitOutcome & { kind: "ACCEPTED" }>();
  for (const submission of fresh) {
    const jobs = submission.jobs.map((job) => holders.get(job) ?? acceptedAsAsked(job));
    accepted.set(submission, { kind: "ACCEPTED", replayed: false, jobs });
  }
  await rewriteResponses(session, accepted);
  return batch.map((submission) => known.get(submission) ?? (accepted.get(submission) as SubmitOutcome));
}

function acceptedAsAsked({ jobId, executionId }: AnyJob): AcceptedJob {
  return { jobId, executionId, deduplicated: false };
}
