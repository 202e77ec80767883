import { isBeyond } from "../../domain/changeover.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { PlanCommand, PlanOrder } from "../../ports/store-commands.ts";
import type { Moved } from "../batch.ts";
import { tellCreated, tellSkips } from "../events.ts";
import { commandDone } from "../jobs/answers.ts";
import type { Step } from "../state.ts";
import { advance } from "./advance.ts";
import { cancelPrevious } from "./cancel-previous.ts";
import { createdOccurrence } from "./created-occurrence.ts";
import { type Budget, PlanDraft } from "./draft.ts";
import type { Planned } from "./plans.ts";

/** Time in ms within which the command of an edit is read. If it is not found by then, there is none. */
const EDIT_READ_MS = 60_000;

/** Advances every plan that has something to do, as far as the batch has room. */
export function advancePlans(step: Step): void {
  const { state, batch, now } = step;
  const { plans, limits } = state;
  const instants = limits.stepInstants;
  const budget = { created: limits.batchPlanRows - batch.planRows, instants };
  const unfinished: Planned[] = [];
  while (budget.created > 0 && budget.instants > 0) {
    const planned = plans.take(now);
    if (planned === null) break;
    if (settle(step, planned, budget)) unfinished.push(planned);
    budget.created = limits.batchPlanRows - batch.planRows;
  }
  for (const planned of unfinished) plans.touch(planned);
  askForJobs(step);
  askForRoom(step);
}

/** Advances one plan. @returns whether the plan has more to do immediately */
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
  const commands = commandsFor(step, planned);
  const { outcomes, question } = advance(draft, commands, planned.before);
  for (const [index, outcome] of outcomes.entries()) commandDone(step, commands[index] as PlanCommand, outcome);
  closeOrders(step, planned, outcomes.length);
  if (draft.isChanged) write(step, planned, draft);
  planned.plan = draft.plan;
  planned.open = draft.open;
  planned.endedAt = draft.endedAt;
  if (question !== null) {
    planned.before = { ...question, instants: null };
    step.wants.push({ kind: "FIRED", jobId, question });
  }
  cancelPrevious(step, planned);
  if (!draft.more) place(step, planned);
  return draft.more;
}

/**
 * Drops a plan that was made by time zone data that this node does not know yet. A later read of the store brings the
 * plan back.
 */
function leaveToOthers({ state }: Step, planned: Planned): false {
  state.plans.drop(planned);
  return false;
}

function write(step: Step, planned: Planned, draft: PlanDraft): void {
  const { jobId, shard } = planned;
  const { plans, recentWrites } = step.state;
  const created = draft.fires.map((fire) => createdOccurrence(step, planned, fire));
  for (const { row } of created) {
    // Earlier answers about these instants are outdated now.
    planned.before?.instants?.add(row.scheduledAt);
    plans.uncommitted.add(row.id);
    recentWrites.add(row.id, step.batch.number);
  }
  const wasRevision = planned.revision++;
  const { plan } = draft;
  const skips = draft.skips.rows();
  step.batch.advance(shard, { jobId, wasRevision, revision: planned.revision, plan, created, skips });
  for (const { row, trigger, createdAt } of created) tellCreated(step, shard, row, trigger, createdAt);
  tellSkips(step, planned, skips);
  step.batch.graceMs.set(jobId, draft.rule.misfireGraceMs);
  if (draft.movedFrom !== null) step.batch.moved.push(movedOf(planned, draft));
  recentWrites.add(jobId, step.batch.number);
}

function movedOf({ job, jobId }: Planned, { movedFrom, plan }: PlanDraft): Moved {
  const name = job.definition.name ?? null;
  return { jobId, name, from: movedFrom as EpochMs, to: plan.nextFireAt, tzdata: plan.tzdata };
}

/** Whether the plan must wait for the command of an edit, which contains the rule that made the plan. */
function awaitsEdit(step: Step, planned: Planned): boolean {
  const { job, plan } = planned;
  const isKnown = commandsFor(step, planned).some(({ order }) => isEditOf(order, plan.version));
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

/** Commands for the job that may be applied: in order, up to the first one that waits for a read. */
function commandsFor(step: Step, { jobId }: Planned): PlanCommand[] {
  const open = step.state.plans.commands.get(jobId) ?? [];
  const end = open.findIndex(({ ask }) => ask !== null);
  return (end < 0 ? open : open.slice(0, end)).map(({ command }) => command);
}

function closeOrders(step: Step, { jobId }: Planned, count: number): void {
  const { commands } = step.state.plans;
  const left = (commands.get(jobId) ?? []).slice(count);
  if (left.length === 0) commands.delete(jobId);
  else commands.set(jobId, left);
}

/** Keeps the plan in memory until it has something to do, or leaves it to the store. */
function place(step: Step, planned: Planned): void {
  const { plans, limits } = step.state;
  const ringAt = nextRingOf(step, planned);
  const isNear = ringAt !== null && ringAt <= step.now + limits.horizonMs;
  // If there is no room, a read of the store finds the plan again when it can advance.
  const isKept = isAwaiting(planned) && plans.byId.size <= limits.plans;
  if (isNear || isKept || plans.commands.has(planned.jobId)) plans.setTimer(planned, ringAt);
  else plans.drop(planned);
}

function nextRingOf(step: Step, { jobId, plan }: Planned): EpochMs | null {
  const rings = plan.state === "ACTIVE" && plan.nextFireAt !== null ? [plan.nextFireAt] : [];
  const order = step.state.plans.commands.get(jobId)?.[0];
  // The command's time lies in the future because the clock of the API's node was ahead.
  if (order?.ask === null && "at" in order.command.order) rings.push(order.command.order.at);
  return rings.length === 0 ? null : Math.min(...rings);
}

/** Whether the plan must be in memory when an execution ends. */
function isAwaiting({ plan }: Pick<Planned, "plan">): boolean {
  // Everything else continues when the pause ends.
  if (plan.state === "PAUSED") return plan.catchUps.some(({ trigger }) => trigger === "BACKFILL");
  if (plan.bufferedAt !== null || plan.catchUps.length > 0) return true;
  return plan.state === "ACTIVE" && plan.nextFireAt === null;
}

function askForJobs({ state, wants }: Step): void {
  const { plans } = state;
  if (plans.toAsk.size === 0) return;
  const ask = ++plans.asks;
  for (const jobId of plans.toAsk) {
    for (const order of plans.commands.get(jobId) ?? []) if (order.ask !== null) order.ask = ask;
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
