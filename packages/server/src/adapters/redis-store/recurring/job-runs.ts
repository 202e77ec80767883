import type { ExecutionId } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { NewRun, RunOutcome } from "../../../ports/store-jobs.ts";
import { inboxOfRun } from "../../../ports/told-events.ts";
import { ID_BYTES, idBytes, idOf } from "../bytes.ts";
import { leftArguments } from "../events/told-arguments.ts";
import { flowText, kindText } from "../kinds.ts";
import { NotBuilt } from "../not-built.ts";
import { readRows } from "../owner-reads.ts";
import { uniqueField } from "../record.ts";
import { type Changing, type OpenJob, readJob, stateOfOpen, wholeRow } from "./job-changes.ts";
import { laterRecord } from "./later-record.ts";

const NO_BYTES = Buffer.alloc(0);

/** See StoreJobs.run. */
export async function runJob(changing: Changing, asked: NewRun, note: AuditNote | undefined): Promise<RunOutcome> {
  for (;;) {
    const job = await readJob(changing, asked.tenant, asked.jobId);
    const isKnown = asked.retryOf === null || (await isOfJob(changing, asked.retryOf, asked));
    if (job === null || !isKnown) return { kind: "NOT_FOUND" };
    const refused = refusal(job, asked);
    if (refused !== null) return refused;
    await refuseSteps(changing, asked);
    const answer = await write(changing, job, asked, note);
    if (answer === 1) return { kind: "ACCEPTED" };
    if (answer !== 0) return { kind: "KEY_HELD", executionId: idOf(answer as Buffer, ID_BYTES) };
  }
}

async function isOfJob({ db }: Changing, id: ExecutionId, { jobId }: NewRun): Promise<boolean> {
  const [row] = await readRows(db, [id]);
  return row?.jobId === jobId;
}

function refusal(job: OpenJob, { retryOf, jobVersion }: NewRun): RunOutcome | null {
  if (stateOfOpen(job) === "DELETED") return { kind: "DELETED" };
  // Executions of a recurring job wait for each other only if its schedule says so.
  const open = job.plan === null ? job.open[0] : job.open.find((id) => id === retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  return job.version === jobVersion ? null : { kind: "OTHER_VERSION", version: job.version };
}

/** @throws {NotBuilt} the execution that runs again has records that the new one should keep */
async function refuseSteps({ db }: Changing, { retryOf, keepsSteps }: NewRun): Promise<void> {
  if (retryOf === null || keepsSteps !== true) return;
  const names = ["s", "g"].map((letter) => db.key(Buffer.concat([Buffer.from(letter), idBytes(retryOf)])));
  const [there] = await db.call([["EXISTS", ...names]]);
  if (there !== 0) throw new NotBuilt("further runs that keep records of handlers");
}

async function write(changing: Changing, job: OpenJob, asked: NewRun, note: AuditNote | undefined) {
  const { db, kinds, trail, isTelling } = changing;
  const { tenant, jobId, executionId, retryOf, definition } = asked;
  const { uniqueKey, pool } = definition;
  const numbers = await kinds.numbersOf([flowText({ tenant, pool }), kindText(tenant, definition)]);
  const [flow = 0, kind = 0] = numbers;
  const record = laterRecord({
    ...{ ...asked, id: executionId, trigger: retryOf === null ? "MANUAL" : "RETRY", updatedAt: asked.createdAt },
    ...{ dueAt: definition.scheduledAt, scheduledAt: definition.scheduledAt, policy: definition.policy, uniqueKey },
    ...{ concurrencyKey: definition.concurrencyKey, payload: asked.payload ?? 0, flow, kind },
  });
  // A job that has only its first execution has no row of its own, or a small one.
  const { row, versions = [] } = job.hasLater ? { row: "" } : wholeRow(job);
  await db.refuseUnwritable();
  const unique = uniqueKey === null ? NO_BYTES : uniqueField(tenant, uniqueKey);
  const args = [
    ...[idBytes(jobId), job.text ?? NO_BYTES, row, retryOf === null ? NO_BYTES : idBytes(retryOf)],
    ...[idBytes(executionId), record, unique, tenant, Buffer.concat(versions)],
    ...leftArguments(isTelling() ? inboxOfRun(asked) : undefined),
  ];
  return await trail.call("ms_run_job", args, note === undefined ? [] : [note], (answer) => answer === 1);
}
