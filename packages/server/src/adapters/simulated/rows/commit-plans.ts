import type { ExecutionId, JobId } from "../../../domain/ids.ts";
import { invariant } from "../../../domain/invariant.ts";
import { unstorableBirth } from "../../../ports/storable.ts";
import type { NewJob, ShardCommit, ShardOutcome } from "../../../ports/store.ts";
import type { CreatedOccurrence, PlanChange } from "../../../ports/store-recurrences.ts";
import type { AppliedPlan } from "../history.ts";
import type { StoreData } from "../store-data.ts";
import { type ExecutionRow, newRow } from "./execution-row.ts";
import { putRun } from "./insert-workflow.ts";

interface PlansOutcome {
  planned: AppliedPlan[];
  born: ExecutionRow[];
  missedPlans: JobId[];
  notCreated: ExecutionId[];
  refused: ShardOutcome["refused"];
}

/**
 * Writes plans after the changes of the same commit, because a created occurrence may take a unique key that one of
 * them has released.
 */
export function commitPlans(data: StoreData, asked: ShardCommit, commitNumber: number): PlansOutcome {
  const outcome: PlansOutcome = { planned: [], born: [], missedPlans: [], notCreated: [], refused: [] };
  for (const change of asked.plans) {
    const before = data.plans.get(change.jobId);
    if (before === undefined || before.revision !== change.wasRevision) {
      outcome.missedPlans.push(change.jobId);
      continue;
    }
    invariant(before.shard === asked.shard, "a plan moves on in its own shard");
    const after = { ...before, revision: change.revision, plan: { ...change.plan } };
    data.plans.replace(after);
    for (const skip of change.skips) data.plans.addSkip(change.jobId, { ...skip });
    outcome.planned.push({ before, after, skips: change.skips });
    for (const occurrence of change.created) bear(data, change, occurrence, commitNumber, outcome);
  }
  return outcome;
}

function bear(
  data: StoreData,
  change: PlanChange,
  occurrence: CreatedOccurrence,
  commitNumber: number,
  outcome: PlansOutcome,
): void {
  const { id } = occurrence.row;
  const message = unstorableBirth(occurrence);
  if (message !== null) {
    outcome.refused.push({ id, message });
    return;
  }
  if (data.executions.get(id) !== undefined) {
    outcome.notCreated.push(id);
    return;
  }
  const job = jobOf(data, change.jobId, occurrence);
  const isHeld = data.uniqueKeys.isHeld(job);
  const row = isHeld ? skippedRow(data, job, occurrence) : newRow(job, originOf(occurrence));
  if (isHeld) outcome.notCreated.push(id);
  else if (occurrence.uniqueKey !== null) data.uniqueKeys.take(job);
  const { node = null } = occurrence.row;
  const written = { ...row, node, updatedAt: data.now(), commitNumber };
  if (node !== null) putRun(data, written.job, null, []);
  data.executions.insert(written);
  outcome.born.push(written);
}

/** The job as an execution has it: at the version by which its owner created the execution. */
function jobOf(data: StoreData, jobId: JobId, { row, laneHash, uniqueKey, createdAt }: CreatedOccurrence): NewJob {
  const known = data.jobs.get(jobId);
  invariant(known !== undefined, "a plan has a job");
  const { pool, handler, requires, priority, scheduledAt, policy, concurrencyKey, concurrencyLimit } = row;
  const copied = { pool, handler, requires, priority, scheduledAt, policy, concurrencyKey, concurrencyLimit };
  return {
    ...{ jobId, executionId: row.id, tenant: row.tenant, shard: row.shard, rank: row.rank, laneHash, createdAt },
    definition: { ...known.job.definition, ...copied, uniqueKey },
    queue: "READY",
    payload: known.payloads[row.jobVersion - 1] ?? null,
  };
}

function originOf({ row, trigger }: CreatedOccurrence) {
  return { trigger, retryOf: null, jobVersion: row.jobVersion, dueAt: row.dueAt };
}

function skippedRow(data: StoreData, job: NewJob, occurrence: CreatedOccurrence): ExecutionRow {
  const row = newRow({ ...job, definition: { ...job.definition, uniqueKey: null } }, originOf(occurrence));
  return { ...row, state: "SKIPPED", queue: "NONE", reason: "UNIQUE_KEY_HELD", finishedAt: data.now() };
}
