import {
  type Birth,
  type ExecutionId,
  invariant,
  type JobId,
  type NewJob,
  type PlanChange,
  type ShardCommit,
  type ShardOutcome,
} from "@mainspring/server/testing";
import { type ExecutionRow, newRow } from "./execution-row.ts";
import type { AppliedPlan } from "./history.ts";
import { unstorableBirth } from "./storable.ts";
import type { StoreData } from "./store-data.ts";

interface PlansOutcome {
  planned: AppliedPlan[];
  born: ExecutionRow[];
  missedPlans: JobId[];
  notBorn: ExecutionId[];
  refused: ShardOutcome["refused"];
}

/** Moves plans on, after the changes of the same commit: a key that one of them has released may be taken by a birth. */
export function commitPlans(data: StoreData, asked: ShardCommit, commitNumber: number): PlansOutcome {
  const outcome: PlansOutcome = { planned: [], born: [], missedPlans: [], notBorn: [], refused: [] };
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
    for (const birth of change.births) bear(data, change, birth, commitNumber, outcome);
  }
  return outcome;
}

function bear(data: StoreData, change: PlanChange, birth: Birth, commitNumber: number, outcome: PlansOutcome): void {
  const { id } = birth.row;
  const message = unstorableBirth(birth);
  if (message !== null) {
    outcome.refused.push({ id, message });
    return;
  }
  if (data.executions.get(id) !== undefined) {
    outcome.notBorn.push(id);
    return;
  }
  const job = jobOf(data, change.jobId, birth);
  const isHeld = data.uniqueKeys.isHeld(job);
  const row = isHeld ? skippedRow(data, job, birth) : newRow(job, originOf(birth));
  if (isHeld) outcome.notBorn.push(id);
  else if (birth.uniqueKey !== null) data.uniqueKeys.take(job);
  const written = { ...row, updatedAt: data.now(), commitNumber };
  data.executions.insert(written);
  outcome.born.push(written);
}

/** The job as the execution knows it: by the version that its owner made it of. */
function jobOf(data: StoreData, jobId: JobId, { row, laneHash, uniqueKey, createdAt }: Birth): NewJob {
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

function originOf({ row, trigger }: Birth) {
  return { trigger, retryOf: null, jobVersion: row.jobVersion, dueAt: row.dueAt };
}

function skippedRow(data: StoreData, job: NewJob, birth: Birth): ExecutionRow {
  const row = newRow({ ...job, definition: { ...job.definition, uniqueKey: null } }, originOf(birth));
  return { ...row, state: "SKIPPED", queue: "NONE", reason: "UNIQUE_KEY_HELD", finishedAt: data.now() };
}
