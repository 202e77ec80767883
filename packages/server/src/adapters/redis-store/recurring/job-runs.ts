import type { ExecutionId } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { NewRun, RunOutcome } from "../../../ports/store-jobs.ts";
import { inboxOfRun } from "../../../ports/told-events.ts";
import { ID_BYTES, idBytes, idOf, NO_BYTES } from "../bytes.ts";
import { leftArguments } from "../events/told-arguments.ts";
import { keepSteps } from "../intake/kept-steps.ts";
import { textsOfJob } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import { uniqueField } from "../record.ts";
import { type Changing, type OpenJob, readJob, stateOfOpen, wholeRow } from "./job-changes.ts";
import { laterRecord } from "./later-record.ts";

/** See StoreJobs.run. */
export async function runJob(changing: Changing, asked: NewRun, note: AuditNote | undefined): Promise<RunOutcome> {
  for (;;) {
    const job = await readJob(changing, asked.tenant, asked.jobId);
    const isKnown = asked.retryOf === null || (await isOfJob(changing, asked.retryOf, asked));
    if (job === null || !isKnown) return { kind: "NOT_FOUND" };
    const refused = refusal(job, asked);
    if (refused !== null) return refused;
    const copies = await copiesFor(changing, asked);
    const answer = await write(changing, job, { ...asked, copies }, note);
    if (answer === 1) return { kind: "ACCEPTED", ...(copies.length > 0 && { steps: "RECORDED" }) };
    if (answer !== 0) return { kind: "KEY_HELD", executionId: idOf(answer as Buffer, ID_BYTES) };
  }
}

export async function isOfJob({ db }: Changing, id: ExecutionId, { jobId }: Pick<NewRun, "jobId">): Promise<boolean> {
  const [row] = await readRows(db, [id]);
  return row?.jobId === jobId;
}

function refusal(job: OpenJob, { retryOf, jobVersion }: NewRun): RunOutcome | null {
  if (stateOfOpen(job) === "DELETED") return { kind: "DELETED" };
  if (job.nested !== undefined && (job.plan === null || retryOf !== null)) return { kind: "IS_WORKFLOW" };
  const open = openBefore(job, retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  return job.version === jobVersion ? null : { kind: "OTHER_VERSION", version: job.version };
}

/** Execution for whose end a further one waits; those of a recurring job wait for each other only if its schedule says so. */
export function openBefore({ plan, open }: OpenJob, retryOf: ExecutionId | null): ExecutionId | undefined {
  return plan === null ? open[0] : open.find((id) => id === retryOf);
}

/** Names of copies of the records and signals that the new execution gets; empty: none. */
async function copiesFor({ db, now }: Changing, { retryOf, keepsSteps }: NewRun): Promise<Buffer[]> {
  return retryOf === null || keepsSteps !== true ? [] : await keepSteps(db, retryOf, now());
}

/** @param asked with the names of the copies of records and signals */
async function write(
  changing: Changing,
  job: OpenJob,
  asked: NewRun & { copies: readonly Buffer[] },
  note: AuditNote | undefined,
) {
  const { db, kinds, trail, isTelling } = changing;
  const { tenant, jobId, executionId, retryOf, definition, copies } = asked;
  const { uniqueKey } = definition;
  const numbers = await kinds.numbersOf(textsOfJob(asked));
  const [flow = 0, kind = 0] = numbers;
  const record = laterRecord({
    ...{ ...asked, id: executionId, trigger: retryOf === null ? "MANUAL" : "RETRY", updatedAt: asked.createdAt },
    ...{ dueAt: definition.scheduledAt, scheduledAt: definition.scheduledAt, policy: definition.policy, uniqueKey },
    ...{ concurrencyKey: definition.concurrencyKey, payload: asked.payload ?? 0, flow, kind },
    ...(copies.length > 0 && { steps: "RECORDED" as const }),
    isRun: job.nested !== undefined,
  });
  // A job that has only its first execution has no row of its own, or a small one.
  const { row, versions = [] } = job.hasLater ? { row: "" } : wholeRow(job);
  await db.refuseUnwritable();
  const unique = uniqueKey === null ? NO_BYTES : uniqueField(tenant, uniqueKey);
  const args = [
    ...[idBytes(jobId), job.text ?? NO_BYTES, row, retryOf === null ? NO_BYTES : idBytes(retryOf)],
    ...[idBytes(executionId), record, unique, tenant, Buffer.concat(versions), Buffer.concat(copies)],
    ...leftArguments(isTelling() ? inboxOfRun(asked) : undefined),
  ];
  return await trail.call("ms_run_job", args, note === undefined ? [] : [note], (answer) => answer === 1);
}
