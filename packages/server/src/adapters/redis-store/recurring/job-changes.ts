import type { EpochMs, ExecutionId, JobId } from "../../../domain/ids.ts";
import { firstExecutionId } from "../../../domain/ids.ts";
import { isSameDefinition } from "../../../domain/same-definition.ts";
import { commandOfReplacement, commandsOfDeletion } from "../../../ports/job-commands.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { Command, PlanCommand } from "../../../ports/store-commands.ts";
import type {
  DeleteOutcome,
  JobDeletion,
  JobReplacement,
  OrderOutcome,
  ReplaceOutcome,
} from "../../../ports/store-jobs.ts";
import { type InboxEvents, inboxOfDeletion, inboxOfReplacement } from "../../../ports/told-events.ts";
import type { AuditTrail } from "../audit-trail.ts";
import { type Body, payloadName, readBodies, writeBodies } from "../bodies.ts";
import { idBytes, idOf, NO_BYTES, u32 } from "../bytes.ts";
import { leftArguments } from "../events/told-arguments.ts";
import { flowText, type Kinds } from "../kinds.ts";
import { uniqueField } from "../record.ts";
import type { RedisAnswer, RedisArgument, RedisConnection } from "../redis-connection.ts";
import { keyOf, readJobs, rowText, type StoredJob, stateOf } from "./job-rows.ts";
import { planRecord, planStateCode, revisionBytes } from "./plan-record.ts";

export interface Changing {
  db: RedisConnection;
  kinds: Kinds;
  trail: AuditTrail;
  now: () => EpochMs;
  /** Whether the node writes lifecycle events now. */
  isTelling: () => boolean;
}

/** A job with its executions that are not final, in the order of their ids. */
export interface OpenJob extends StoredJob {
  open: ExecutionId[];
}

/** Job of a tenant; null: it has no such job. */
export async function readJob({ db, kinds }: Changing, tenant: string, jobId: JobId): Promise<OpenJob | null> {
  // An execution that is added between the two reads changes the row, or is missing in what the function compares.
  const [job] = await readJobs(db, kinds, [jobId]);
  if (job == null || job.tenant !== tenant) return null;
  const [members] = await db.call([["SMEMBERS", db.key(keyOf("lo", jobId))]]);
  const later = (members as Buffer[]).map((member) => idOf(member));
  const first = job.first?.isFinal === false ? [firstExecutionId(jobId)] : [];
  return { ...job, open: [...first, ...later].sort() };
}

/** See StoreJobs.replace. A change beside another one reads again and decides again. */
export async function replaceJob(
  changing: Changing,
  asked: JobReplacement,
  note: AuditNote | undefined,
): Promise<ReplaceOutcome> {
  for (;;) {
    const job = await readJob(changing, asked.tenant, asked.jobId);
    if (job === null) return { kind: "NOT_FOUND" };
    if (job.nested !== undefined) return { kind: "IS_WORKFLOW" };
    const refused = refusal(job, asked);
    if (refused !== null) return refused;
    if (await isUnchanged(changing, job, asked)) return unchanged(job);
    if (stateOfOpen(job) === "FINISHED") return { kind: "WRONG_STATE", state: "FINISHED" };
    const outcome = await writeReplacement(changing, job, asked, note);
    if (outcome !== null) return outcome;
  }
}

export function stateOfOpen(job: OpenJob) {
  return stateOf(job, job.open.length > 0);
}

/** @returns reason why a job cannot be replaced, whatever it has now; null: there is none */
function refusal(job: OpenJob, { definition, ifVersion }: JobReplacement): ReplaceOutcome | null {
  if (job.nested !== undefined) return { kind: "IS_WORKFLOW" };
  const isRecurring = job.plan !== null;
  const state = stateOfOpen(job);
  if (ifVersion !== null && ifVersion !== job.version) return { kind: "OTHER_VERSION", version: job.version };
  if (isRecurring !== (definition.recurrence !== null)) return { kind: "OTHER_TYPE", isRecurring };
  if (state === "DELETED" || (state !== "ACTIVE" && !isRecurring)) return { kind: "WRONG_STATE", state };
  for (const key of ["concurrencyKey", "uniqueKey"] as const) {
    const value = job.definition[key];
    if (value !== definition[key]) return { kind: "KEY_DIFFERS", key, value };
  }
  return null;
}

async function isUnchanged({ db, now }: Changing, job: StoredJob, asked: JobReplacement): Promise<boolean> {
  if (!isSameDefinition(job.definition, asked.definition, Math.max(asked.at, now()))) return false;
  const payload = await payloadOf(db, job);
  return payload === null || asked.payload === null
    ? payload === asked.payload
    : Buffer.compare(payload, asked.payload) === 0;
}

/** Payload of the present version of a job; null: it has none. */
export async function payloadOf(db: RedisConnection, { jobId, version, payload }: StoredJob): Promise<Buffer | null> {
  if (typeof payload !== "number") return payload;
  return (await readBodies(db, [payloadName(jobId, version)]))[0] ?? null;
}

function unchanged({ jobId, version, open: executionIds, definition: { scheduledAt } }: OpenJob): ReplaceOutcome {
  return { kind: "UNCHANGED", jobId, version, scheduledAt, executionIds };
}

/** @returns null: the job has changed since it was read */
async function writeReplacement(
  changing: Changing,
  job: OpenJob,
  asked: JobReplacement,
  note: AuditNote | undefined,
): Promise<ReplaceOutcome | null> {
  const { tenant, jobId, definition, payload, at } = asked;
  const version = job.version + 1;
  const command = commandOfReplacement(job, asked, version);
  const body: Body | null = payload === null ? null : { name: payloadName(jobId, version), bytes: payload };
  const former = typeof job.payload === "number" ? [u32(job.version)] : [];
  const answer = await writeChange(changing, job, note, {
    row: rowText({ ...job, version, definition, updatedAt: at }, payload?.length ?? null),
    plan: await flowAfter(changing, job, asked),
    ...namesAfter(job, tenant, definition.name),
    body,
    versions: [...former, ...(body === null ? [] : [u32(version)])],
    commands: [command],
    told: () => inboxOfReplacement(asked, job.shard, version),
  });
  if (answer === 0) return null;
  return answer === 1 ? { kind: "REPLACED", version, command } : { kind: "NAME_HELD", jobId: idOf(answer as Buffer) };
}

/** Number of the flow into which a plan goes with its job; empty: it stays. */
async function flowAfter({ kinds }: Changing, { plan, definition }: StoredJob, asked: JobReplacement): Promise<Buffer> {
  const { pool } = asked.definition;
  if (plan === null || pool === definition.pool) return NO_BYTES;
  const [flow] = await kinds.numbersOf([flowText({ tenant: asked.tenant, pool })]);
  return u32(flow as number);
}

/** Names that a job takes and gives up. Only names of recurring jobs are unique. */
function namesAfter({ plan, definition }: StoredJob, tenant: string, after: string | null): Partial<JobChange> {
  const before = definition.name;
  if (before === after) return {};
  if (plan === null)
    return {
      ...(after !== null && { named: nameText(tenant, after) }),
      ...(before !== null && { unnamed: nameText(tenant, before) }),
    };
  return {
    ...(after !== null && { claimed: uniqueField(tenant, after) }),
    ...(before !== null && { released: uniqueField(tenant, before) }),
  };
}

/** Part of the name of an index of jobs that run once. */
export function nameText(tenant: string, name: string): string {
  return `${tenant}:${name}`;
}

/** See StoreJobs.delete. */
export async function deleteJob(
  changing: Changing,
  asked: JobDeletion,
  note: AuditNote | undefined,
): Promise<DeleteOutcome> {
  for (;;) {
    const job = await readJob(changing, asked.tenant, asked.jobId);
    if (job === null) return { kind: "NOT_FOUND" };
    const commands = commandsOfDeletion(job, asked, job.plan !== null && job.plan.plan.state !== "DELETED");
    const isDeleted = job.deletedAt !== null;
    const { at } = asked;
    const own = isDeleted ? { row: "" } : wholeRow({ ...job, deletedAt: at, updatedAt: at });
    const { plan, definition, tenant } = job;
    const endsPlan = plan !== null && plan.plan.state !== "DELETED";
    const answer = await writeChange(changing, job, note, {
      ...own,
      ...(endsPlan && { was: revisionBytes(plan.revision), plan: endedPlan(plan), deleted: `${Math.floor(at)}` }),
      ...(endsPlan && definition.name !== null && { released: uniqueField(tenant, definition.name) }),
      commands,
      ...(!isDeleted && { told: () => inboxOfDeletion(asked.commandId(), asked, job, job.version) }),
    });
    if (answer === 1) return { kind: "DELETED", commands };
  }
}

function endedPlan(stored: NonNullable<StoredJob["plan"]>): Buffer {
  const plan = { ...stored.plan, state: "DELETED" as const, nextFireAt: null, bufferedAt: null, catchUps: [] };
  return planRecord({ ...stored, revision: stored.revision + 1, plan });
}

/** Row of a job with all that it is, because its first execution may end its time in the store before later ones. */
export function wholeRow(job: StoredJob): Pick<JobChange, "row" | "versions"> {
  const { version, payload } = job;
  return { row: rowText(job, payload), versions: typeof payload === "number" ? [u32(version)] : [] };
}

/** See StoreJobs.order. */
export async function orderPlan(
  changing: Changing,
  tenant: string,
  command: PlanCommand,
  note: AuditNote | undefined,
): Promise<OrderOutcome> {
  for (;;) {
    const job = await readJob(changing, tenant, command.jobId);
    if (job === null) return { kind: "NOT_FOUND" };
    if (job.plan === null) return { kind: "NOT_RECURRING" };
    const state = stateOfOpen(job);
    if (state === "DELETED" || state === "FINISHED") return { kind: "WRONG_STATE", state };
    const was = Buffer.from([planStateCode(job.plan.plan.state)]);
    if ((await writeChange(changing, job, note, { row: "", was, commands: [command] })) === 1) return { kind: "TAKEN" };
  }
}

/** A change of a job, as `change_job` of the library takes it; a field that is left out changes nothing. */
interface JobChange {
  /** New text of the row; empty: it stays. */
  row: string;
  /** Revision or state that the plan must have; left out: its state as read. */
  was?: Buffer;
  /** New record of the plan, or the number of its new flow. */
  plan?: Buffer;
  claimed?: Buffer;
  released?: Buffer;
  named?: string;
  unnamed?: string;
  /** Time of the deletion of a recurring job. */
  deleted?: string;
  body?: Body | null;
  /** Versions whose payloads are keys of their own. */
  versions?: Buffer[];
  commands: readonly Command[];
  /** Events of the change. */
  told?: () => InboxEvents;
}

/** @returns 1: written; 0: the job is not as read; or the id of the job that has the name */
async function writeChange(
  { db, trail, now, isTelling }: Changing,
  job: OpenJob,
  note: AuditNote | undefined,
  change: JobChange,
): Promise<RedisAnswer> {
  const { row, plan, claimed, released, named = "", unnamed = "", deleted = "", body, versions, commands } = change;
  if (body != null) await writeBodies(db, [body], now());
  const state = job.plan === null ? NO_BYTES : Buffer.from([planStateCode(job.plan.plan.state)]);
  const args: RedisArgument[] = [
    ...[idBytes(job.jobId), job.text ?? NO_BYTES, row, Buffer.concat(job.open.map(idBytes))],
    ...[change.was ?? state, plan ?? NO_BYTES, claimed ?? NO_BYTES, released ?? NO_BYTES, named, unnamed, deleted],
    ...[body?.name ?? NO_BYTES, Buffer.concat(versions ?? [])],
    ...leftArguments(isTelling() ? change.told?.() : undefined),
    `${commands.length}`,
    ...commands.flatMap((command) => [`${command.shard}`, command.id, JSON.stringify(command)]),
  ];
  return await trail.call("ms_change_job", args, note === undefined ? [] : [note], (answer) => answer === 1);
}
