import type { Credit } from "../../ports/messages.ts";
import { sendStop } from "../attempts/cancel.ts";
import type { Entry } from "../entry.ts";
import { assignmentOf } from "../queue/assignment.ts";
import { poolOf, type Step } from "../state.ts";
import type { WorkerSlots } from "./workers.ts";

/** Time in ms that an assignment may wait at its worker before the worker is asked whether it has started. */
const ASK_AFTER_MS = 10_000;
/** Numbers in one VOID message. */
const VOID_MAX = 10_000;

/** Applies a gateway's CREDITS message. */
export function applyCredits(step: Step, from: string, isFullSync: boolean, credits: readonly Credit[]): void {
  const strangers: string[] = [];
  for (const credit of credits) {
    const worker = step.state.workers.get(credit.workerId);
    if (worker === undefined || worker.gateway !== from || credit.account > worker.account) {
      // The worker's introduction is on its way or was lost. A full sync comes so late that the introduction must have
      // been lost. A gateway that the worker has left does not introduce it.
      if (isFullSync) strangers.push(credit.workerId);
    } else if (credit.account === worker.account) {
      worker.listedAt = step.now;
      grant(step, worker, credit);
      if (!isFullSync) continue;
      // Other messages do not tell of slots, and leave the knowledge of the last full sync as it is.
      worker.freeSlots = credit.free ?? null;
      worker.stuck = credit.stuck ?? 0;
      repair(step, worker, credit);
      if (lookThrough(step, worker)) strangers.push(credit.workerId);
    }
  }
  if (strangers.length > 0) step.batch.toGateway.push({ node: from, message: { kind: "WHO", workerIds: strangers } });
}

function grant(step: Step, worker: WorkerSlots, { granted, ahead = worker.profile.prefetch }: Credit): void {
  // The number is cumulative, so a lost or repeated message neither leaks nor doubles a slot.
  if (granted <= worker.granted && ahead === worker.ahead) return;
  if (granted > worker.granted && step.state.stranded.size > 0) step.state.credited.add(worker);
  worker.granted = Math.max(granted, worker.granted);
  worker.ahead = ahead;
  refreshWorker(step, worker);
}

/** Sends assignments that did not arrive again, and voids numbers that no assignment uses any more. */
function repair(step: Step, worker: WorkerSlots, { highest, missing }: Credit): void {
  if (missing.length === 0 && highest >= worker.sent) return;
  const waiting = new Map<number, Entry>();
  for (const entry of worker.held) {
    if (entry.assigned?.account === worker.account) waiting.set(entry.assigned.credit, entry);
  }
  const nothing: number[] = [];
  const unborn = creditsOfUnborn(step, worker);
  const look = (credit: number) => {
    const entry = waiting.get(credit);
    if (entry !== undefined) resend(step, entry);
    else if (!unborn.has(credit)) nothing.push(credit);
  };
  for (const credit of missing) if (credit <= worker.sent) look(credit);
  for (let credit = highest + 1; credit <= worker.sent; credit++) look(credit);
  voidCredits(step, { gateway: worker.gateway, workerId: worker.profile.workerId, account: worker.account }, nothing);
}

/** Numbers of assignments to the worker that are not sent before the commit that creates their nodes is answered. */
function creditsOfUnborn({ state }: Step, worker: WorkerSlots): Set<number> {
  const credits = new Set<number>();
  for (const { assigned } of state.runs.unborn.values()) {
    if (assigned?.worker === worker && assigned.account === worker.account) credits.add(assigned.credit);
  }
  return credits;
}

/**
 * Repeats orders to stop, which may have been lost.
 * @returns whether the worker must report again what it holds, because the report of a start may have been lost too
 */
function lookThrough(step: Step, worker: WorkerSlots): boolean {
  let isInDoubt = false;
  for (const entry of worker.held) {
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

/** Tells the gateway which numbers no assignment will use, so that it allocates their slots again. */
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

/**
 * Marks credits for return, because another owner has work for these workers. The end of this step gives back what is
 * unused by then.
 */
export function revoke(step: Step, from: string, workers: readonly { workerId: string; account: number }[]): void {
  for (const { workerId, account } of workers) {
    const worker = step.state.workers.get(workerId);
    if (worker?.gateway === from && worker.account === account) step.state.revoked.add(worker);
  }
}

export function giveBackRevoked(step: Step): void {
  const { revoked: recalled } = step.state;
  // The check saves an allocation: clearing a Set allocates a new table even if the Set is empty.
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
