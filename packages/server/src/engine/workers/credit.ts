import type { Credit } from "../../ports/messages.ts";
import { sendStop } from "../attempts/cancel.ts";
import type { Entry } from "../entry.ts";
import { assignmentOf } from "../queue/assignment.ts";
import { poolOf, type Step } from "../state.ts";
import type { WorkerSlots } from "./workers.ts";

/** How long an assignment may wait at its worker before the worker is asked whether it has begun. */
const ASK_AFTER_MS = 10_000;
/** Numbers in one message. */
const VOID_MAX = 10_000;

/** Messages of gateways about the slots that they lend. */
export function takeCredits(step: Step, from: string, roll: boolean, credits: readonly Credit[]): void {
  const strangers: string[] = [];
  for (const credit of credits) {
    const worker = step.state.workers.get(credit.workerId);
    if (worker === undefined || worker.gateway !== from || credit.account > worker.account) {
      // Its introduction is on its way, or was lost: a roll comes late enough to tell. A gateway that it has left does not
      // introduce it.
      if (roll) strangers.push(credit.workerId);
    } else if (credit.account === worker.account) {
      worker.listedAt = step.now;
      worker.freeSlots = credit.free ?? null;
      worker.stuck = credit.stuck ?? 0;
      grant(step, worker, credit.granted);
      if (!roll) continue;
      mend(step, worker, credit);
      if (lookThrough(step, worker)) strangers.push(credit.workerId);
    }
  }
  if (strangers.length > 0) step.batch.toGateway.push({ node: from, message: { kind: "WHO", workerIds: strangers } });
}

function grant(step: Step, worker: WorkerSlots, granted: number): void {
  // Cumulative, so that a lost or repeated message neither leaks nor doubles a slot.
  if (granted <= worker.granted) return;
  worker.granted = granted;
  refreshWorker(step, worker);
}

/** Assignments that did not arrive are sent again; numbers that stand for nothing any more are void. */
function mend(step: Step, worker: WorkerSlots, { highest, missing }: Credit): void {
  if (missing.length === 0 && highest >= worker.sent) return;
  const waiting = new Map<number, Entry>();
  for (const entry of worker.holding) {
    if (entry.assigned?.account === worker.account) waiting.set(entry.assigned.credit, entry);
  }
  const nothing: number[] = [];
  const look = (credit: number) => {
    const entry = waiting.get(credit);
    if (entry === undefined) nothing.push(credit);
    else resend(step, entry);
  };
  for (const credit of missing) if (credit <= worker.sent) look(credit);
  for (let credit = highest + 1; credit <= worker.sent; credit++) look(credit);
  voidCredits(step, { gateway: worker.gateway, workerId: worker.profile.workerId, account: worker.account }, nothing);
}

/**
 * Repeats orders to stop, which may have been lost.
 * @returns whether the worker should say anew what it holds: news of a start may have been lost too
 */
function lookThrough(step: Step, worker: WorkerSlots): boolean {
  let isInDoubt = false;
  for (const entry of worker.holding) {
    sendStop(step, entry);
    const { assigned } = entry;
    if (assigned?.startedAt === null && step.now - assigned.at > ASK_AFTER_MS) isInDoubt = true;
  }
  if (!isInDoubt || step.now - worker.askedAt < ASK_AFTER_MS) return false;
  worker.askedAt = step.now;
  return true;
}

/** Sends the assignment again under its own number and token, so that it is harmless if the first one is only late. */
function resend(step: Step, entry: Entry): void {
  const { assigned } = entry;
  if (assigned === null || step.now - assigned.at < step.state.limits.resendAfterMs) return;
  step.batch.resends.push(assignmentOf(step, entry, assigned));
}

/** Numbers that no assignment will come with: the gateway lends their slots anew. */
function voidCredits(
  step: Step,
  at: { gateway: string; workerId: string; account: number },
  credits: readonly number[],
): void {
  const { gateway: node, workerId, account } = at;
  for (let i = 0; i < credits.length; i += VOID_MAX) {
    const message = { kind: "VOID", workerId, account, credits: credits.slice(i, i + VOID_MAX) } as const;
    step.batch.toGateway.push({ node, message });
  }
}

/** Another owner has work for them: what is not used at the end of this step goes back. */
export function recall(step: Step, from: string, workers: readonly { workerId: string; account: number }[]): void {
  for (const { workerId, account } of workers) {
    const worker = step.state.workers.get(workerId);
    if (worker?.gateway === from && worker.account === account) step.state.recalled.add(worker);
  }
}

export function giveBackRecalled(step: Step): void {
  const { recalled } = step.state;
  // To clear a Set makes a new table, empty or not.
  if (recalled.size === 0) return;
  for (const worker of recalled) {
    const { gateway, account, granted, sent } = worker;
    const unused = Array.from({ length: granted - sent }, (_, i) => sent + 1 + i);
    worker.sent = granted;
    refreshWorker(step, worker);
    step.state.givenBack.add(worker.profile.pool);
    voidCredits(step, { gateway, workerId: worker.profile.workerId, account }, unused);
  }
  recalled.clear();
}

export function refreshWorker(step: Step, worker: WorkerSlots): void {
  step.state.workers.refresh(worker, poolOf(step.state, worker.profile.pool).placement);
}
