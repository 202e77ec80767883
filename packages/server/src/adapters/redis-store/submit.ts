import { type EpochMs, firstExecutionId } from "../../domain/ids.ts";
import { chunked } from "../../ports/chunks.ts";
import { unstorableJob, unstorableKey } from "../../ports/storable.ts";
import type { AcceptedJob, NewJob, Submission, SubmitOutcome } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import { type AnyJob, isWorkflow } from "../../ports/store-runs.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { type Body, payloadName, writeBodies } from "./bodies.ts";
import { digest, ID_BYTES, INSTANT_MAX, idBytes, idOf } from "./bytes.ts";
import type { Connections } from "./connections.ts";
import { toldBySubmission } from "./events/told-arguments.ts";
import { flowText, type Kinds, kindText } from "./kinds.ts";
import { NotBuilt } from "./not-built.ts";
import { isInline, newRecord, uniqueField } from "./record.ts";
import type { RedisAnswer, RedisArgument } from "./redis-connection.ts";

/** Largest submission, because it is one call. */
export const SUBMISSION_MAX = 1_000;
/** Limit of one call. A larger submission is a call of its own. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };
/** Bytes of the ids of a job in an answer, with the flag of a held unique key. */
const ANSWER_BYTES = 2 * ID_BYTES + 1;
const NO_BYTES = Buffer.alloc(0);

interface Submitting {
  db: Connections;
  kinds: Kinds;
  trail: AuditTrail;
  now: () => EpochMs;
  /** Whether the node writes lifecycle events now. */
  isTelling: () => boolean;
}

/** A submission as the function takes it. */
interface Packed {
  submission: Submission;
  args: RedisArgument[];
  bytes: number;
  bodies: Body[];
}

/** See Store.submit. */
export async function submit(parts: Submitting, batch: readonly Submission[]): Promise<SubmitOutcome[]> {
  const refused = new Map<Submission, string>();
  for (const submission of batch) {
    const message = refusal(submission);
    if (message !== null) refused.set(submission, message);
  }
  const outcomes = new Map<Submission, SubmitOutcome>();
  const storable = batch.filter((submission) => !refused.has(submission));
  const packed = await pack(parts.kinds, storable, parts.isTelling());
  const weigh = ({ submission, bytes }: Packed) => ({ count: submission.jobs.length, bytes });
  for (const part of chunked(packed, CALL, weigh)) await submitPart(parts, part, outcomes);
  return batch.map((submission) => {
    const message = refused.get(submission);
    return message === undefined ? (outcomes.get(submission) as SubmitOutcome) : { kind: "REFUSED", message };
  });
}

async function submitPart(
  { db, trail, now }: Submitting,
  part: readonly Packed[],
  outcomes: Map<Submission, SubmitOutcome>,
): Promise<void> {
  const at = now();
  await db.submit.refuseFull();
  await writeBodies(
    db.submit,
    part.flatMap(({ bodies }) => bodies),
    at,
  );
  const notes = part.flatMap(({ submission }) => submission.note ?? []);
  const args = part.flatMap((packed) => packed.args);
  const answers = (await noted(trail, notes, (records) =>
    db.submit.durably("ms_submit", [`${Math.floor(at / 1_000)}`, ...records, ...args]),
  )) as Buffer[];
  for (const [i, { submission }] of part.entries()) outcomes.set(submission, outcomeOf(answers[i] as Buffer));
}

function noted(
  trail: AuditTrail,
  notes: readonly AuditNote[],
  call: (records: RedisArgument[]) => Promise<RedisAnswer>,
): Promise<RedisAnswer> {
  return notes.length === 0 ? call(["0"]) : trail.recorded(notes, call, () => true);
}

/** @returns reason why the store cannot hold a submission; null: it can */
function refusal({ idempotency, jobs }: Submission): string | null {
  refuseUnbuilt(jobs);
  if (jobs.length > SUBMISSION_MAX)
    return `a submission to Redis has at most ${SUBMISSION_MAX.toLocaleString("en")} jobs, and this one has ${jobs.length}`;
  const key = idempotency === null ? null : unstorableKey(idempotency);
  return key ?? jobs.map(unfit).find((message) => message !== null) ?? null;
}

function refuseUnbuilt(jobs: readonly AnyJob[]): void {
  if (jobs.some(({ executionId }) => executionId === null)) throw new NotBuilt("recurring jobs");
  if (jobs.some(isWorkflow)) throw new NotBuilt("workflows");
  // Only programs of an earlier release made such jobs, and none of them knows this store.
  if (jobs.some(({ jobId, executionId }) => executionId !== firstExecutionId(jobId)))
    throw new NotBuilt("jobs whose first execution has an id of its own");
}

function unfit(job: AnyJob): string | null {
  const message = unstorableJob(job as NewJob);
  if (message !== null) return message;
  const { createdAt, definition } = job as NewJob;
  const instants = [createdAt, definition.scheduledAt, definition.policy.startBefore ?? 0];
  const beyond = instants.find((instant) => instant < 0 || instant > INSTANT_MAX);
  return beyond === undefined ? null : `${beyond} is no time from 0 to ${INSTANT_MAX} ms`;
}

async function pack(kinds: Kinds, submissions: readonly Submission[], isTelling: boolean): Promise<Packed[]> {
  const jobs = submissions.flatMap((submission) => submission.jobs as readonly NewJob[]);
  const texts = jobs.flatMap(({ tenant, definition }) => [
    flowText({ tenant, pool: definition.pool }),
    kindText(tenant, definition),
  ]);
  const numbers = texts.length === 0 ? [] : await kinds.numbersOf(texts);
  let at = 0;
  return submissions.map((submission) => {
    const own = (submission.jobs as readonly NewJob[]).map((job) => {
      const [flow = 0, kind = 0] = numbers.slice(at, at + 2);
      at += 2;
      return packJob(job, { flow, kind });
    });
    const { idempotency } = submission;
    const key = idempotency === null ? NO_BYTES : digest(idempotency.tenant, idempotency.key);
    const hash = idempotency === null ? NO_BYTES : digest(idempotency.requestHash);
    const told = isTelling ? toldBySubmission(submission) : NO_BYTES;
    const args = [key, hash, told, `${own.length}`, ...own.flatMap((job) => job.args)];
    const bytes = own.reduce((sum, job) => sum + job.bytes, told.length);
    return { submission, args, bytes, bodies: own.flatMap(({ body }) => body ?? []) };
  });
}

interface PackedJob {
  args: RedisArgument[];
  bytes: number;
  body: Body | null;
}

/** Arguments of a job: ids, record, unique key, further content, tenant, and the name of its body. */
function packJob(job: NewJob, numbers: { flow: number; kind: number }): PackedJob {
  const { tenant, definition, payload, jobId, executionId } = job;
  const { uniqueKey, name, labels } = definition;
  const record = newRecord(job, numbers);
  const body = payload === null || isInline(payload) ? null : { name: payloadName(jobId, 1), bytes: payload };
  const hasMore = name !== null || Object.keys(labels).length > 0;
  const more = hasMore ? JSON.stringify({ name, labels }) : "";
  const unique = uniqueKey === null ? NO_BYTES : uniqueField(tenant, uniqueKey);
  const ids = Buffer.concat([idBytes(executionId), idBytes(jobId)]);
  return {
    args: [ids, record, unique, more, tenant, body?.name ?? NO_BYTES],
    bytes: record.length + more.length,
    body,
  };
}

/** Outcome of an answer of the function. */
function outcomeOf(answer: Buffer): SubmitOutcome {
  const kind = String.fromCharCode(answer[0] as number);
  if (kind === "K") return { kind: "KEY_REUSED" };
  if (kind === "X") return { kind: "REFUSED", message: `there is an execution ${idOf(answer, 1)}` };
  return { kind: "ACCEPTED", replayed: kind === "R", jobs: acceptedJobs(answer.subarray(1)) };
}

/** Jobs of an answer; see Store.submit. */
export function acceptedJobs(bytes: Buffer): AcceptedJob[] {
  return Array.from({ length: bytes.length / ANSWER_BYTES }, (_, i) => {
    const at = i * ANSWER_BYTES;
    const deduplicated = bytes[at + 2 * ID_BYTES] === 1;
    return { jobId: idOf(bytes, at), executionId: idOf(bytes, at + ID_BYTES), deduplicated };
  });
}
