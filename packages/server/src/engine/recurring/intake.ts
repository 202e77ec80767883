import type { Candidate } from "../../domain/execution.ts";
import type { JobId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { scheduleOf } from "../../domain/recurrence.ts";
import type { PlanCommand } from "../../ports/store.ts";
import type { Recurrence } from "../../ports/store-recurrences.ts";
import type { Input, ReadMark, ReadResult } from "../inputs.ts";
import { commandDone } from "../jobs/answers.ts";
import { bringBorn } from "../queue/intake.ts";
import type { Step } from "../state.ts";
import type { Planned } from "./plans.ts";

/** Recurring jobs come into memory: from looks at the store, from hints, and for commands. */

export function takePlans(step: Step, read: Extract<ReadResult, { kind: "READ_PLANS" }>): void {
  for (const job of read.plans) {
    if (step.state.plans.byId.has(job.jobId)) merge(step, job);
    else if (!isStale(step, job, read)) bring(step, job, read.isBounded);
  }
}

/** They were asked for: what a read did not show as it is now is read again. */
export function takeLoadedPlans(step: Step, read: Extract<ReadResult, { kind: "LOADED_PLANS" }>): void {
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
export function takePlannedHint({ state }: Step, { shard, jobId }: Extract<Input, { kind: "PLANNED" }>): void {
  if (state.epochs.has(shard) && !state.plans.byId.has(jobId)) state.plans.toAsk.add(jobId);
}

/** A command for a plan is obeyed when the job was read since. */
export function takePlanCommand({ state }: Step, command: PlanCommand): void {
  const { orders, toAsk, asks } = state.plans;
  const open = [...(orders.get(command.jobId) ?? []), { command, ask: asks + 1 }];
  orders.set(
    command.jobId,
    open.sort((a, b) => (a.command.id < b.command.id ? -1 : 1)),
  );
  toAsk.add(command.jobId);
}

/** Plans in memory follow those that have come into force. */
export function takeChangeovers({ state }: Step, { changeovers }: Extract<Input, { kind: "CHANGEOVERS" }>): void {
  state.changeovers = changeovers;
  for (const planned of state.plans.byId.values()) state.plans.dirty.add(planned);
}

export function takeFired(step: Step, read: Extract<ReadResult, { kind: "READ_FIRED" }>): void {
  const { plans, touched } = step.state;
  const { jobId, question, instants } = read;
  const planned = plans.byId.get(jobId);
  const before = planned?.before;
  if (planned === undefined || before?.catchUpId !== question.catchUpId || before.since !== question.since) return;
  // The read may have missed a write that was on its way to the store when the read began, so that job is read again.
  planned.before = touched.hides(jobId, read.since) ? null : { ...question, instants: new Set(instants) };
  plans.dirty.add(planned);
}

/** A commit was answered: what it has made of planned instants is there. */
export function takeBorn(step: Step, { rows, notBorn, missedPlans }: Extract<Input, { kind: "BORN" }>): void {
  const { plans } = step.state;
  for (const { shard, jobId, births } of missedPlans) dropMissed(step, shard, jobId, births);
  for (const row of rows) {
    plans.unborn.delete(row.id);
    bringBorn(step, row);
    const planned = plans.byId.get(row.jobId);
    if (planned !== undefined && planned.plan.bufferedAt !== null) plans.dirty.add(planned);
  }
  for (const row of notBorn) plans.ended(row.jobId, row.id, step.now);
}

/** The delete came first: nothing that was made of the job's plan since is true. */
function dropMissed(step: Step, shard: number, jobId: JobId, births: readonly Candidate[]): void {
  const { plans, epochs } = step.state;
  for (const { id } of births) plans.unborn.delete(id);
  const later = step.batch.shards.get(shard)?.plans;
  for (const { row } of later?.get(jobId)?.births ?? []) plans.unborn.delete(row.id);
  later?.delete(jobId);
  const planned = plans.byId.get(jobId);
  if (planned !== undefined) plans.drop(planned);
  if (epochs.has(shard)) plans.toAsk.add(jobId);
}

/** Memory knows the plan; the definition may be newer, and the job deleted. */
function merge({ state }: Step, job: Recurrence): void {
  const { plans } = state;
  const planned = plans.byId.get(job.jobId) as Planned;
  if (job.plan.state === "DELETED") planned.plan = { ...planned.plan, state: "DELETED" };
  if (job.version > planned.job.version && plans.orders.has(job.jobId)) {
    planned.job = job;
    planned.schedule = scheduleOfJob(job);
  } else if (job.plan.state !== "DELETED" && !state.plans.orders.has(job.jobId)) return;
  plans.dirty.add(planned);
}

function bring({ state, now }: Step, job: Recurrence, isBounded: boolean): void {
  const { plans, limits } = state;
  const { jobId, shard, revision, plan } = job;
  if (isBounded && plans.byId.size >= limits.plans && !canMoveOn(job, now)) {
    plans.turnedAway = true;
    return;
  }
  const open = new Set(job.open);
  const rest = { endedAt: null, before: null, editSeenAt: null, timer: null };
  const planned: Planned = { jobId, shard, job, schedule: scheduleOfJob(job), revision, plan, open, ...rest };
  plans.byId.set(jobId, planned);
  plans.dirty.add(planned);
}

/** It does not stay in memory for long. */
function canMoveOn({ plan, open }: Recurrence, now: number): boolean {
  return plan.nextFireAt === null ? open.length === 0 : plan.nextFireAt <= now;
}

function scheduleOfJob({ definition, jobId, createdAt }: Recurrence): Planned["schedule"] {
  const { recurrence } = definition;
  invariant(recurrence !== null, `the job ${jobId} has a plan and does not recur`);
  return scheduleOf(recurrence, jobId, createdAt);
}

/**
 * Read when another may still have advanced it, or before what was written here had arrived: of it, or of an execution
 * that it waits for.
 */
function isStale({ state }: Step, { shard, jobId, open }: Recurrence, mark: ReadMark): boolean {
  const takenIn = state.terms.get(shard);
  if (takenIn === undefined || mark.term < takenIn) return true;
  return state.touched.hides(jobId, mark.since) || open.some((id) => state.touched.hides(id, mark.since));
}

function releaseOrders({ state }: Step, jobId: JobId, ask: number): void {
  for (const order of state.plans.orders.get(jobId) ?? []) if (order.ask !== null && order.ask <= ask) order.ask = null;
}

/** There is no such job. */
function refuseOrders(step: Step, jobId: JobId, ask: number): void {
  const { orders } = step.state.plans;
  const open = orders.get(jobId) ?? [];
  const left = open.filter((order) => order.ask !== null && order.ask > ask);
  for (const order of open) if (!left.includes(order)) commandDone(step, order.command, "NOT_PLANNED");
  if (left.length > 0) orders.set(jobId, left);
  else orders.delete(jobId);
}
