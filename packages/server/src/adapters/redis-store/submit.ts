import { type EpochMs, firstExecutionId } from "../../domain/ids.ts";
import { chunked } from "../../ports/chunks.ts";
import { unstorableJob, unstorableKey } from "../../ports/storable.ts";
import type { AcceptedJob, NewJob, NewRecurringJob, Submission, SubmitOutcome } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import { type AnyJob, isWorkflow } from "../../ports/store-runs.ts";
import { digestOfTexts } from "../../ports/text-digest.ts";
import type { AuditTrail } from "./audit-trail.ts";
import { type Body, payloadName, writeBodies } from "./bodies.ts";
import { ID_BYTES, INSTANT_MAX, idBytes, idOf, NO_BYTES } from "./bytes.ts";
import type { Connections } from "./connections.ts";
import { toldBySubmission } from "./events/told-arguments.ts";
import { type Kinds, textsOfJob } from "./kinds.ts";
import { isInline, newRecord, uniqueField } from "./record.ts";
import { nameText } from "./recurring/job-changes.ts";
import { rowText } from "./recurring/job-rows.ts";
import { packRecurring, unfitRecurring } from "./recurring/new-recurring.ts";
import type { RedisAnswer, RedisArgument, RedisConnection } from "./redis-connection.ts";
import { type Numbers, packWorkflow, textsOfRow, unfitWorkflow } from "./runs/new-workflow.ts";

/** Largest submission, because it is one call. */
export const SUBMISSION_MAX = 1_000;
/** Limit of one call. A larger submission is a call of its own. */
const CALL = { count: 500, bytes: 4 * 1024 * 1024 };
/** Most jobs and first nodes of workflows of a submission. */
const ROWS_MAX = 2_000;
/** Bytes of the ids of a job in an answer, with the flag of a held unique key. */
const ANSWER_BYTES = 2 * ID_BYTES + 1;
/** Flags behind the ids of a job in an answer. */
const [DEDUPLICATED, RECURRING, NAME_HELD] = [1, 2, 3];

export interface Submitting {
  db: Connections;
  kinds: Kinds;
  trail: AuditTrail;
  now: () => EpochMs;
  /** Whether the node writes lifecycle events now. */
  isTelling: () => boolean;
}

/** A submission as the function takes it. */
export interface Packed {
  submission: Submission;
  args: RedisArgument[];
  bytes: number;
  bodies: Body[];
  /** Number of jobs, and of nodes of workflows. */
  rows: number;
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
  const weigh = ({ rows, bytes }: Packed) => ({ count: rows, bytes });
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
  await db.submit.refuseUnwritable();
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

/** @param isDone whether the call has changed what the notes say; default: always */
export function noted(
  trail: AuditTrail,
  notes: readonly AuditNote[],
  call: (records: RedisArgument[]) => Promise<RedisAnswer>,
  isDone: (answer: RedisAnswer) => boolean = () => true,
): Promise<RedisAnswer> {
  return notes.length === 0 ? call(["0"]) : trail.recorded(notes, call, isDone);
}

/** @returns reason why the store cannot hold a submission; null: it can */
export function refusal({ idempotency, jobs }: Submission): string | null {
  if (jobs.length > SUBMISSION_MAX)
    return `a submission to Redis has at most ${SUBMISSION_MAX.toLocaleString("en")} jobs, and this one has ${jobs.length}`;
  const rows = jobs.reduce((sum, job) => sum + 1 + (isWorkflow(job) ? job.roots.length : 0), 0);
  if (rows > ROWS_MAX)
    return `a submission to Redis has at most ${ROWS_MAX.toLocaleString("en")} jobs and first nodes, and this one has ${rows}`;
  const key = idempotency === null ? null : unstorableKey(idempotency);
  return key ?? jobs.map(unfit).find((message) => message !== null) ?? null;
}

function unfit(job: AnyJob): string | null {
  if (isWorkflow(job)) return unfitWorkflow(job);
  const message = unstorableJob(job as NewJob);
  if (message !== null) return message;
  if (isRecurring(job)) return unfitRecurring(job);
  const { createdAt, definition } = job as NewJob;
  const instants = [createdAt, definition.scheduledAt, definition.policy.startBefore ?? 0];
  const beyond = instants.find((instant) => instant < 0 || instant > INSTANT_MAX);
  return beyond === undefined ? null : `${beyond} is no time from 0 to ${INSTANT_MAX} ms`;
}

export async function pack(kinds: Kinds, submissions: readonly Submission[], isTelling: boolean): Promise<Packed[]> {
  const texts = submissions.map(({ jobs }) => jobs.map(textsOf));
  const asked = texts.flat(2);
  const numbers = asked.length === 0 ? [] : await kinds.numbersOf(asked);
  let at = 0;
  const pairs = (count: number): Numbers[] =>
    Array.from({ length: count / 2 }, () => ({ flow: numbers[at++] as number, kind: numbers[at++] as number }));
  return submissions.map((submission, n) => {
    const own = submission.jobs.map((job, i) => packOne(job, pairs(texts[n]?.[i]?.length ?? 0)));
    const { idempotency } = submission;
    const key = idempotency === null ? NO_BYTES : digestOfTexts(idempotency.tenant, idempotency.key);
    const hash = idempotency === null ? NO_BYTES : digestOfTexts(idempotency.requestHash);
    const told = isTelling ? toldBySubmission(submission) : NO_BYTES;
    const args = [key, hash, told, `${own.length}`, ...own.flatMap((job) => job.args)];
    const bytes = own.reduce((sum, job) => sum + job.bytes, told.length);
    const rows = own.reduce((sum, job) => sum + job.rows, 0);
    return { submission, args, bytes, rows, bodies: own.flatMap(({ bodies }) => bodies) };
  });
}

/** Texts of the flow and kind of a job, and of each first node of a workflow. */
function textsOf(job: AnyJob): string[] {
  const own = textsOfJob(job as NewJob);
  return isWorkflow(job) ? [...own, ...job.roots.flatMap(({ row }) => textsOfRow(row))] : own;
}

function packOne(job: AnyJob, numbers: readonly Numbers[]): PackedJob {
  const [own] = numbers as [Numbers];
  if (isWorkflow(job)) return packWorkflow(job, numbers);
  return isRecurring(job) ? packRecurring(job, own.flow) : packJob(job as NewJob, own);
}

function isRecurring(job: AnyJob): job is NewRecurringJob {
  return job.executionId === null;
}

/** Writes the body of a job, and gives its arguments as those of a submission without an idempotency key. */
export async function packAlone(
  { db, kinds, isTelling }: Submitting,
  job: NewJob | NewRecurringJob,
  at: EpochMs,
): Promise<RedisArgument[]> {
  await db.submit.refuseUnwritable();
  const [packed] = await pack(kinds, [{ idempotency: null, jobs: [job] }], isTelling());
  const { args, bodies } = packed as Packed;
  await writeBodies(db.submit, bodies, at);
  return args;
}

/** Bytes behind the ids of a job whose first execution has an id that does not follow from that of the job. */
const HAS_OWN_ID = Buffer.alloc(2);

export interface PackedJob {
  args: RedisArgument[];
  bytes: number;
  bodies: Body[];
  /** 1, and the number of the first nodes of a workflow. */
  rows: number;
}

/** Arguments of a job: ids, record, unique key, further content, tenant, and the names of its body and of the job. */
function packJob(job: NewJob, numbers: Numbers): PackedJob {
  const { tenant, definition, payload, jobId, executionId } = job;
  const { uniqueKey, name } = definition;
  const record = newRecord(job, numbers);
  // Programs of an earlier release give the first execution an id of its own.
  const isWhole = executionId !== firstExecutionId(jobId);
  const hasBody = payload !== null && (isWhole || !isInline(payload));
  const body = hasBody ? { name: payloadName(jobId, 1), bytes: payload } : null;
  const more = isWhole ? wholeRowOf(job) : smallRowOf(job);
  const unique = uniqueKey === null ? NO_BYTES : uniqueField(tenant, uniqueKey);
  const ids = Buffer.concat([idBytes(executionId), idBytes(jobId), isWhole ? HAS_OWN_ID : NO_BYTES]);
  return {
    args: [
      ...[ids, record, unique, more, tenant, body?.name ?? NO_BYTES],
      name === null ? NO_BYTES : nameText(tenant, name),
    ],
    bytes: record.length + more.length,
    bodies: body === null ? [] : [body],
    rows: 1,
  };
}

/** Row of a job that has only what its first execution does not; empty: there is nothing. */
function smallRowOf({ definition: { name, labels } }: NewJob): string {
  return name !== null || Object.keys(labels).length > 0 ? JSON.stringify({ name, labels }) : "";
}

function wholeRowOf({ tenant, shard, definition, createdAt, payload }: NewJob): string {
  const own = { tenant, shard, version: 1, definition, createdAt, updatedAt: createdAt, deletedAt: null };
  return rowText(own, payload?.length ?? null);
}

/** Outcome of an answer of the function. */
export function outcomeOf(answer: Buffer): SubmitOutcome {
  const kind = String.fromCharCode(answer[0] as number);
  if (kind === "K") return { kind: "KEY_REUSED" };
  if (kind === "X") return { kind: "REFUSED", message: `there is an execution or recurring job ${idOf(answer, 1)}` };
  return { kind: "ACCEPTED", replayed: kind === "R", jobs: acceptedJobs(answer.subarray(1)) };
}

/** Jobs of an answer; see Store.submit. */
export function acceptedJobs(bytes: Buffer): AcceptedJob[] {
  return Array.from({ length: bytes.length / ANSWER_BYTES }, (_, i) => {
    const at = i * ANSWER_BYTES;
    const flag = bytes[at + 2 * ID_BYTES] as number;
    const [jobId, second, deduplicated] = [idOf(bytes, at), idOf(bytes, at + ID_BYTES), flag === DEDUPLICATED];
    if (flag === NAME_HELD) return { jobId, executionId: null, deduplicated, nameHeldBy: second };
    return { jobId, executionId: flag === RECURRING ? null : second, deduplicated };
  });
}

/** Bytes of a job in an answer, as `acceptedJobs` reads them. */
export function answerOf({ jobId, executionId, deduplicated, nameHeldBy }: AcceptedJob): Buffer {
  const second = nameHeldBy ?? executionId;
  const ofOwn = executionId === null ? RECURRING : deduplicated ? DEDUPLICATED : 0;
  const ids = [idBytes(jobId), second === null ? Buffer.alloc(ID_BYTES) : idBytes(second)];
  return Buffer.concat([...ids, Buffer.from([nameHeldBy === undefined ? ofOwn : NAME_HELD])]);
}

/** The answer to an earlier submission or retry with an idempotency key, as a repeat gets it; null: there was none. */
export async function answeredBefore(
  db: RedisConnection,
  { tenant, key, requestHash }: NonNullable<Submission["idempotency"]>,
): Promise<Extract<SubmitOutcome, { kind: "ACCEPTED" | "KEY_REUSED" }> | null> {
  const answer = (await db.readConfirmed(["HGET", db.key("i"), digestOfTexts(tenant, key)])) as Buffer | null;
  if (answer === null) return null;
  if (!answer.subarray(0, ID_BYTES).equals(digestOfTexts(requestHash))) return { kind: "KEY_REUSED" };
  return { kind: "ACCEPTED", replayed: true, jobs: acceptedJobs(answer.subarray(ID_BYTES)) };
}
