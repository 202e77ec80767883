import type { Candidate } from "../../domain/execution.ts";
import type { JobId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { scheduleOf } from "../../domain/recurrence.ts";
import type { PlanCommand } from "../../ports/store-commands.ts";
import type { Recurrence } from "../../ports/store-recurrences.ts";
import type { ShardDraft } from "../batch.ts";
import { withdrawEvents, withdrawSkips } from "../events.ts";
import type { Input, ReadMark, ReadResult } from "../inputs.ts";
import { commandDone } from "../jobs/answers.ts";
import { bringBorn } from "../queue/intake.ts";
import type { Step } from "../state.ts";
import { flowOf, type Planned } from "./plans.ts";

/** Brings recurring jobs into memory: from regular reads of the store, from hints, and for commands. */

export function applyReadPlans(step: Step, read: Extract<ReadResult, { kind: "READ_PLANS" }>): void {
  for (const job of read.plans) {
    if (step.state.plans.byId.has(job.jobId)) merge(step, job);
    else if (!isStale(step, job, read)) bring(step, job, read.isBounded);
  }
}

/** Applies the answer to a read of these jobs. A job that the read showed in an outdated state is read again. */
export function applyLoadedPlans(step: Step, read: Extract<ReadResult, { kind: "LOADED_PLANS" }>): void {
  const { plans } = step.state;
  const byId = new Map(read.plans.map((job) => [job.jobId, job]));
  for (const jobId of read.asked) {
    const job = byId.get(jobId);
    if (job === undefined) refuseOrders(step, jobId, read.ask);
    else if (plans.byId.has(jobId)) merge(step, job);
    else if (!isStale(step, job, read)) bring(step, job, false);
    else {
      if (step.state.epochs.has(job.shard)) plans.toAsk.add(jobId);
      continue;
    }
    releaseOrders(step, jobId, read.ask);
  }
}

/** A job was submitted whose first instant is near. */
export function applyPlannedHint({ state }: Step, { shard, jobId }: Extract<Input, { kind: "PLANNED" }>): void {
  if (state.epochs.has(shard) && !state.plans.byId.has(jobId)) state.plans.toAsk.add(jobId);
}

/** Queues a command for a plan. The command is applied after a read of the job that began later. */
export function queuePlanCommand({ state }: Step, command: PlanCommand): void {
  const { commands, toAsk, asks } = state.plans;
  const open = [...(commands.get(command.jobId) ?? []), { command, ask: asks + 1 }];
  commands.set(
    command.jobId,
    open.sort((a, b) => (a.command.id < b.command.id ? -1 : 1)),
  );
  toAsk.add(command.jobId);
}

/** Records the changeovers. The next step applies those in force to the plans in memory. */
export function applyChangeovers({ state }: Step, { changeovers }: Extract<Input, { kind: "CHANGEOVERS" }>): void {
  state.changeovers = changeovers;
  for (const planned of state.plans.byId.values()) state.plans.touch(planned);
}

export function applyFired(step: Step, read: Extract<ReadResult, { kind: "READ_FIRED" }>): void {
  const { plans, recentWrites } = step.state;
  const { jobId, question, instants } = read;
  const planned = plans.byId.get(jobId);
  const before = planned?.before;
  if (planned === undefined || before?.catchUpId !== question.catchUpId || before.since !== question.since) return;
  // The read may have missed a write that was on its way to the store when the read began, so that job is read again.
  planned.before = recentWrites.hides(jobId, read.since) ? null : { ...question, instants: new Set(instants) };
  plans.touch(planned);
}

/** Applies the answer of a commit that created executions for planned instants. */
export function applyCreated(step: Step, { rows, notCreated, missedPlans }: Extract<Input, { kind: "CREATED" }>): void {
  const { plans } = step.state;
  for (const { shard, jobId, created } of missedPlans) dropMissed(step, shard, jobId, created);
  for (const row of rows) {
    plans.uncommitted.delete(row.id);
    bringBorn(step, row);
    const planned = plans.byId.get(row.jobId);
    if (planned !== undefined && planned.plan.bufferedAt !== null) plans.touch(planned);
  }
  for (const row of notCreated) plans.ended(row.jobId, row.id, step.now);
}

/** Drops a plan whose change was missed because the job was deleted first: none of its later changes are valid. */
function dropMissed(step: Step, shard: number, jobId: JobId, created: readonly Candidate[]): void {
  const { plans, epochs } = step.state;
  for (const { id } of created) plans.uncommitted.delete(id);
  const draft = step.batch.shards.get(shard);
  for (const { row } of draft?.plans.get(jobId)?.created ?? []) plans.uncommitted.delete(row.id);
  if (draft !== undefined) withdrawPlan(draft, jobId);
  const planned = plans.byId.get(jobId);
  if (planned !== undefined) plans.drop(planned);
  if (epochs.has(shard)) plans.toAsk.add(jobId);
}

/** Takes back what the batch writes for a plan. */
function withdrawPlan(draft: ShardDraft, jobId: JobId): void {
  withdrawEvents(draft, new Set(draft.plans.get(jobId)?.created.map(({ row }) => row.id)));
  withdrawSkips(draft, jobId);
  draft.plans.delete(jobId);
}

/**
 * Updates a plan in memory from a read. The plan in memory is valid, but the read may show a newer definition or a
 * deletion.
 */
function merge({ state }: Step, job: Recurrence): void {
  const { plans } = state;
  const planned = plans.byId.get(job.jobId) as Planned;
  if (job.plan.state === "DELETED") planned.plan = { ...planned.plan, state: "DELETED" };
  if (job.version > planned.job.version && plans.commands.has(job.jobId)) {
    planned.job = job;
    planned.schedule = scheduleOfJob(job);
  } else if (job.plan.state !== "DELETED" && !state.plans.commands.has(job.jobId)) return;
  plans.touch(planned);
}

function bring({ state, now }: Step, job: Recurrence, isBounded: boolean): void {
  const { plans, limits } = state;
  const { jobId, shard, revision, plan } = job;
  if (isBounded && !plans.hasRoom(flowOf(job), limits.plans) && !canMoveOn(job, now)) {
    plans.turnedAway = true;
    return;
  }
  const open = new Set(job.open);
  const rest = { endedAt: null, before: null, editSeenAt: null, isTouched: false, timer: null };
  const planned: Planned = { jobId, shard, job, schedule: scheduleOfJob(job), revision, plan, open, ...rest };
  plans.byId.set(jobId, planned);
  plans.touch(planned);
}

/** Whether the plan can advance now, so that it does not stay in memory for long. */
function canMoveOn({ plan, open }: Recurrence, now: number): boolean {
  return plan.nextFireAt === null ? open.length === 0 : plan.nextFireAt <= now;
}

function scheduleOfJob({ definition, jobId, createdAt }: Recurrence): Planned["schedule"] {
  const { recurrence } = definition;
  invariant(recurrence !== null, `the job ${jobId} has a plan and does not recur`);
  return scheduleOf(recurrence, jobId, createdAt);
}

/**
 * Whether a read may show an outdated job: it began before this node owned the shard, or before the store had received
 * all of this machine's writes of the job and of the executions that the job waits for.
 */
function isStale({ state }: Step, { shard, jobId, open }: Recurrence, mark: ReadMark): boolean {
  const takenIn = state.terms.get(shard);
  if (takenIn === undefined || mark.term < takenIn) return true;
  return state.recentWrites.hides(jobId, mark.since) || open.some((id) => state.recentWrites.hides(id, mark.since));
}

function releaseOrders({ state }: Step, jobId: JobId, ask: number): void {
  for (const order of state.plans.commands.get(jobId) ?? [])
    if (order.ask !== null && order.ask <= ask) order.ask = null;
}

/** Completes the commands for a job that does not exist. */
function refuseOrders(step: Step, jobId: JobId, ask: number): void {
  const { commands } = step.state.plans;
  const open = commands.get(jobId) ?? [];
  const left = open.filter((order) => order.ask !== null && order.ask > ask);
  for (const order of open) if (!left.includes(order)) commandDone(step, order.command, "NOT_PLANNED");
  if (left.length > 0) commands.set(jobId, left);
  else commands.delete(jobId);
}
