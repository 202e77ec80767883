import { isBeyond } from "../../domain/changeover.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { PlanCommand, PlanOrder } from "../../ports/store.ts";
import type { Moved } from "../batch.ts";
import { commandDone } from "../jobs/answers.ts";
import type { Step } from "../state.ts";
import { advance } from "./advance.ts";
import { birthOf } from "./birth.ts";
import { type Budget, PlanDraft } from "./draft.ts";
import type { Planned } from "./plans.ts";
import { supersede } from "./supersede.ts";

/** Commands are read within this time, or there is none. */
const EDIT_READ_MS = 60_000;

/** Moves on every plan that there is something to do for, as far as there is room in the batch. */
export function advancePlans(step: Step): void {
  const { state, batch, now } = step;
  const { plans, limits } = state;
  const instants = limits.stepInstants;
  const budget = { births: limits.batchPlanRows - batch.planRows, instants };
  const unfinished: Planned[] = [];
  while (budget.births > 0 && budget.instants > 0) {
    const planned = plans.take(now);
    if (planned === null) break;
    if (settle(step, planned, budget)) unfinished.push(planned);
    budget.births = limits.batchPlanRows - batch.planRows;
  }
  for (const planned of unfinished) plans.dirty.add(planned);
  askForJobs(step);
  askForRoom(step);
}

/** @returns whether there is more to do at once */
function settle(step: Step, planned: Planned, budget: Budget): boolean {
  const { state, now } = step;
  const { job, schedule, jobId } = planned;
  if (isBeyond(state.changeovers, planned.plan.tzdata)) return leaveToOthers(step, planned);
  if (awaitsEdit(step, planned)) return false;
  const { recurrence: rule } = job.definition;
  invariant(rule !== null, `the job ${jobId} has a plan and does not recur`);
  const { plan, open, endedAt } = planned;
  const facts = { jobId, createdAt: job.createdAt, version: job.version, rule, schedule, plan, open, endedAt };
  const draft = new PlanDraft(facts, now, state.changeovers, budget);
  const orders = ordersFor(step, planned);
  const { outcomes, question } = advance(draft, orders, planned.before);
  for (const [index, outcome] of outcomes.entries()) commandDone(step, orders[index] as PlanCommand, outcome);
  closeOrders(step, planned, outcomes.length);
  if (draft.isChanged) write(step, planned, draft);
  planned.plan = draft.plan;
  planned.open = draft.open;
  planned.endedAt = draft.endedAt;
  if (question !== null) {
    planned.before = { ...question, instants: null };
    step.wants.push({ kind: "FIRED", jobId, question });
  }
  supersede(step, planned);
  if (!draft.more) place(step, planned);
  return draft.more;
}

/** This node does not know yet by which rules the plan was made; a look at the store brings it again. */
function leaveToOthers({ state }: Step, planned: Planned): false {
  state.plans.drop(planned);
  return false;
}

function write(step: Step, planned: Planned, draft: PlanDraft): void {
  const { jobId, shard } = planned;
  const { plans, touched } = step.state;
  const births = draft.fires.map((fire) => birthOf(step, planned, fire));
  for (const { row } of births) {
    // Earlier answers about them are no longer true.
    planned.before?.instants?.add(row.scheduledAt);
    plans.unborn.add(row.id);
    touched.add(row.id, step.batch.number);
  }
  const wasRevision = planned.revision++;
  const { plan } = draft;
  const skips = draft.skips.rows();
  step.batch.advance(shard, { jobId, wasRevision, revision: planned.revision, plan, births, skips });
  step.batch.graceMs.set(jobId, draft.rule.misfireGraceMs);
  if (draft.movedFrom !== null) step.batch.moved.push(movedOf(planned, draft));
  touched.add(jobId, step.batch.number);
}

function movedOf({ job, jobId }: Planned, { movedFrom, plan }: PlanDraft): Moved {
  const name = job.definition.name ?? null;
  return { jobId, name, from: movedFrom as EpochMs, to: plan.nextFireAt, tzdata: plan.tzdata };
}

/** The command that came with an edit remembers the rule that made the plan: nothing is done before it was read. */
function awaitsEdit(step: Step, planned: Planned): boolean {
  const { job, plan } = planned;
  const isKnown = ordersFor(step, planned).some(({ order }) => isEditOf(order, plan.version));
  if (job.version === plan.version || plan.state === "FINISHED" || isKnown) {
    planned.editSeenAt = null;
    return false;
  }
  planned.editSeenAt ??= step.now;
  const until = planned.editSeenAt + EDIT_READ_MS;
  if (until <= step.now) return false;
  step.state.plans.setTimer(planned, until);
  return true;
}

function isEditOf(order: PlanOrder, version: number): boolean {
  return order.kind === "LOOK" && order.former?.version === version;
}

/** Commands for the job that may be obeyed: in order, up to the first that waits for a read. */
function ordersFor(step: Step, { jobId }: Planned): PlanCommand[] {
  const open = step.state.plans.orders.get(jobId) ?? [];
  const end = open.findIndex(({ ask }) => ask !== null);
  return (end < 0 ? open : open.slice(0, end)).map(({ command }) => command);
}

function closeOrders(step: Step, { jobId }: Planned, count: number): void {
  const { orders } = step.state.plans;
  const left = (orders.get(jobId) ?? []).slice(count);
  if (left.length === 0) orders.delete(jobId);
  else orders.set(jobId, left);
}

/** Keeps it until there is something to do for it, or leaves it to the store. */
function place(step: Step, planned: Planned): void {
  const { plans, limits } = step.state;
  const ringAt = nextRingOf(step, planned);
  const isNear = ringAt !== null && ringAt <= step.now + limits.horizonMs;
  // Where there is no room, a look at the store finds it when it can go on.
  const isKept = isAwaiting(planned) && plans.byId.size <= limits.plans;
  if (isNear || isKept || plans.orders.has(planned.jobId)) plans.setTimer(planned, ringAt);
  else plans.drop(planned);
}

function nextRingOf(step: Step, { jobId, plan }: Planned): EpochMs | null {
  const rings = plan.state === "ACTIVE" && plan.nextFireAt !== null ? [plan.nextFireAt] : [];
  const order = step.state.plans.orders.get(jobId)?.[0];
  // The command's time lies in the future because the clock of the API's node was ahead.
  if (order?.ask === null && "at" in order.command.order) rings.push(order.command.order.at);
  return rings.length === 0 ? null : Math.min(...rings);
}

/** It is to be here when an execution ends. */
function isAwaiting({ plan }: Pick<Planned, "plan">): boolean {
  // Everything else goes on when the pause ends.
  if (plan.state === "PAUSED") return plan.catchUps.some(({ trigger }) => trigger === "BACKFILL");
  if (plan.bufferedAt !== null || plan.catchUps.length > 0) return true;
  return plan.state === "ACTIVE" && plan.nextFireAt === null;
}

function askForJobs({ state, wants }: Step): void {
  const { plans } = state;
  if (plans.toAsk.size === 0) return;
  const ask = ++plans.asks;
  for (const jobId of plans.toAsk) {
    for (const order of plans.orders.get(jobId) ?? []) if (order.ask !== null) order.ask = ask;
  }
  wants.push({ kind: "LOAD_PLANS", jobIds: [...plans.toAsk], ask });
  plans.toAsk.clear();
}

/** Commands left in the store are read when there is room again. */
function askForRoom({ state, wants }: Step): void {
  const { plans, limits } = state;
  if (!plans.turnedAway || plans.byId.size > limits.plans / 4) return;
  plans.turnedAway = false;
  wants.push({ kind: "DUE_PLANS" });
}
