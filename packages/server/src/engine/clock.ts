import { attemptGivenUp, giveOwnRow, refuse } from "./attempts/attempts.ts";
import { orderStop } from "./attempts/cancel.ts";
import type { Entry } from "./entry.ts";
import { nextPermitRing } from "./permits/steps.ts";
import { dispatch, isFull } from "./queue/dispatch.ts";
import { enter, expire, isCrowded } from "./queue/intake.ts";
import { clearTimer, type Step } from "./state.ts";
import { judgeSearch } from "./workers/adoption.ts";
import { nextJudgement } from "./workers/fleet.ts";

/** Changes that time alone brings about. @returns whether executions that are due wait for the next batch */
export function passTime(step: Step): boolean {
  const { state, now } = step;
  const isHeldBack = ringTimers(step);
  for (;;) {
    const entry = state.young.take(now - state.limits.ownRowAfterMs);
    if (entry === null) break;
    giveOwnRow(step, entry);
  }
  return isHeldBack;
}

/**
 * A herd that finds its lane full is not written back to the store where workers are free: the next batches have room
 * for it.
 */
function ringTimers(step: Step): boolean {
  const { state, now } = step;
  for (;;) {
    const node = state.timers.peek();
    if (node === undefined || node.key > now) return false;
    if (node.item.place === "TIMER" && isCrowded(step, node.item.row)) {
      dispatch(step);
      if (isFull(step)) return true;
    }
    clearTimer(state, node.item);
    ring(step, node.item);
  }
}

function ring(step: Step, entry: Entry): void {
  if (entry.place === "TIMER") {
    entry.place = "NEW";
    enter(step, entry);
  } else if (entry.place === "LANE") expire(step, entry);
  else if (entry.place === "ASSIGNED") attemptRings(step, entry);
}

function attemptRings(step: Step, entry: Entry): void {
  const { assigned } = entry;
  if (assigned === null) return;
  if (assigned.soughtSince !== null) judgeSearch(step, entry, assigned);
  else if (assigned.stopping === null) orderStop(step, entry, "TIMED_OUT");
  else forceEnd(step, entry);
}

/** The worker was told to stop and did not say that it had: its later words are refused. */
function forceEnd(step: Step, entry: Entry): void {
  const { assigned, row } = entry;
  if (assigned === null) return;
  const token = { shard: row.shard, executionId: entry.id, attempt: row.attempt };
  const state = assigned.stopping === "REQUESTED" ? "CANCELLED" : "TIMED_OUT";
  const { gateway, workerId } = assigned;
  attemptGivenUp(step, entry, state, `it ran for longer than ${row.policy.timeoutMs} ms and did not stop`);
  refuse(step, gateway, workerId, token);
}

/**
 * When time alone will next bring something about; null: never.
 * @param isHeldBack whether plans, or executions that are due, wait for room in a batch and not for their time
 */
export function nextRing(step: Pick<Step, "state">, isHeldBack: { plans: boolean; due: boolean }): number | null {
  const { state } = step;
  const oldest = state.young.oldestAt();
  const rings = [
    isHeldBack.due ? null : (state.timers.peek()?.key ?? null),
    oldest === null ? null : oldest + state.limits.ownRowAfterMs,
    nextJudgement(state),
    isHeldBack.plans ? null : (state.plans.timers.peek()?.key ?? null),
    nextPermitRing(state),
  ].filter((at) => at !== null);
  return rings.length === 0 ? null : Math.min(...rings);
}
