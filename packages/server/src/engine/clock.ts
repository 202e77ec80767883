import { attemptLimitMs } from "../domain/lifetime.ts";
import { attemptGivenUp, giveOwnRow, refuse } from "./attempts/attempts.ts";
import { orderStop } from "./attempts/cancel.ts";
import type { Entry } from "./entry.ts";
import type { FlowNode } from "./flow-heap.ts";
import { nextPermitRing } from "./permits/steps.ts";
import { makeRoom } from "./queue/dispatch.ts";
import { endLate, enter, isCrowded } from "./queue/intake.ts";
import { advance } from "./runs/advance.ts";
import { clearTimer, type Step } from "./state.ts";
import { judgeSearch } from "./workers/adoption.ts";
import { nextJudgement } from "./workers/gateway-messages.ts";

/** Applies all changes that follow from the time alone. */
export function passTime(step: Step): void {
  const { state, now } = step;
  ringTimers(step);
  ringDue(step);
  for (let run = state.runs.takeExpired(now); run !== null; run = state.runs.takeExpired(now)) advance(step, run);
  for (;;) {
    const entry = state.unpersisted.take(now - state.limits.ownRowAfterMs);
    if (entry === null) break;
    giveOwnRow(step, entry);
  }
}

function ringTimers(step: Step): void {
  const { state, now } = step;
  for (let node = state.timers.peek(); node !== undefined && node.key <= now; node = state.timers.peek()) {
    clearTimer(state, node.item);
    if (node.item.place === "LANE") endLate(step, node.item);
    else if (node.item.place === "ASSIGNED") attemptRings(step, node.item);
  }
}

/**
 * Lets executions enter their lanes that are due, the flows in turns, as many as one step may take: the first ones of a burst are assigned
 * before the others enter. If a burst fills its lane while workers are free, the burst waits for the next batches and is not written back
 * to the store. A burst that no worker takes goes back in portions. Neither holds up the executions of other flows.
 */
function ringDue(step: Step): void {
  const { state, now } = step;
  state.waiting.resume();
  for (let taken = 0; taken < state.limits.stepDue; taken++) {
    const entry = state.waiting.next(now);
    if (entry === null) return;
    if (isCrowded(step, entry.row) && !makeRoom(step, entry.row.pool))
      state.waiting.hold(entry.dueTimer as FlowNode<Entry>);
    else {
      clearTimer(state, entry);
      entry.place = "NEW";
      enter(step, entry);
    }
  }
}

function attemptRings(step: Step, entry: Entry): void {
  const { assigned } = entry;
  if (assigned === null) return;
  if (assigned.soughtSince !== null) judgeSearch(step, entry, assigned);
  else if (assigned.stopping === null) orderStop(step, entry, "TIMED_OUT");
  else forceEnd(step, entry);
}

/**
 * Ends an attempt whose worker was told to stop and did not confirm in time. Later reports of the attempt are refused.
 */
function forceEnd(step: Step, entry: Entry): void {
  const { assigned, row } = entry;
  if (assigned === null) return;
  const token = { shard: row.shard, executionId: entry.id, attempt: row.attempt };
  const state = assigned.stopping === "REQUESTED" ? "CANCELLED" : "TIMED_OUT";
  const { gateway, workerId } = assigned;
  const limitMs = attemptLimitMs(row, assigned.startedAt ?? assigned.at);
  attemptGivenUp(step, entry, state, `it ran for longer than ${limitMs} ms and did not stop`);
  refuse(step, gateway, workerId, token);
}

/**
 * Time of the next change that follows from the time alone; null: there is none.
 * Flows that are held wait for room in a batch rather than for their time.
 * @param arePlansDue whether plans, too, wait for room in a batch
 */
export function nextRing(step: Pick<Step, "state">, arePlansDue: boolean): number | null {
  const { state } = step;
  const oldest = state.unpersisted.oldestAt();
  const rings = [
    state.timers.peek()?.key ?? null,
    state.waiting.earliest(),
    oldest === null ? null : oldest + state.limits.ownRowAfterMs,
    nextJudgement(state),
    arePlansDue ? null : state.plans.timers.earliest(),
    nextPermitRing(state),
    state.runs.deadlines.peek()?.key ?? null,
  ].filter((at) => at !== null);
  return rings.length === 0 ? null : Math.min(...rings);
}
