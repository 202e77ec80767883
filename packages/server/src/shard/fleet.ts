import type { FromGateway, HeldAttempt, WorkerProfile } from "../ports/messages.ts";
import { attemptFinished, attemptGivenUp, attemptStarted, markStarted, refuse } from "./attempts.ts";
import { orderStop, sendStop } from "./cancel.ts";
import { poolOf, type Step } from "./state.ts";
import type { WorkerSlots } from "./workers.ts";

/** What gateways say of their workers. */
export function fromGateway(step: Step, from: string, message: FromGateway): void {
  switch (message.kind) {
    case "WORKER_UP":
      return workerUp(step, from, message.worker, message.holds);
    case "WORKER_LOST":
      return workerLost(step, message.workerId, message.reason);
    case "WORKER_DRAINING":
      return workerDraining(step, message.workerId);
    case "CREDIT":
      return credit(step, from, message.workerId, message.granted);
    case "STARTED":
      for (const started of message.tokens) attemptStarted(step, from, started);
      return;
    case "FINISHED":
      for (const finished of message.results) attemptFinished(step, from, finished);
  }
}

function workerUp(step: Step, from: string, profile: WorkerProfile, holds: readonly HeldAttempt[]): void {
  const { workers } = step.state;
  const { worker, regroup } = workers.up(profile, from);
  for (const entry of worker.holding) if (entry.assigned !== null) entry.assigned.worker = worker;
  if (regroup) regroupClasses(step);
  // What it was told over the connection before may not have reached it.
  for (const entry of worker.holding) sendStop(step, entry);
  const held = new Map(holds.map((hold) => [hold.executionId, hold]));
  adopt(step, worker, held);
  for (const hold of holds) {
    const entry = step.state.entries.get(hold.executionId);
    const known = entry?.place === "ASSIGNED" && entry.row.attempt === hold.attempt;
    if (!known || entry.assigned?.workerId !== profile.workerId) refuse(step, from, profile.workerId, hold);
  }
}

/** What an earlier owner gave to this worker: it has it, or it never arrived. */
function adopt(step: Step, worker: WorkerSlots, held: ReadonlyMap<string, HeldAttempt>): void {
  const { adopting } = step.state;
  const { workerId } = worker.profile;
  const entries = adopting.get(workerId);
  if (entries === undefined) return;
  adopting.delete(workerId);
  for (const entry of entries) {
    const { assigned } = entry;
    if (assigned === null) continue;
    const hold = held.get(entry.id);
    if (hold?.attempt !== entry.row.attempt) {
      attemptGivenUp(step, entry, "RELEASED", "");
      continue;
    }
    assigned.adopting = false;
    assigned.gateway = worker.gateway;
    assigned.worker = worker;
    worker.holding.add(entry);
    takeUpTimer(step, entry, assigned, hold);
  }
}

function takeUpTimer(
  step: Step,
  entry: Parameters<typeof markStarted>[1],
  assigned: Parameters<typeof markStarted>[2],
  hold: HeldAttempt,
): void {
  if (entry.cancels.length > 0) {
    // The order to stop is given again, and its time begins anew.
    return orderStop(step, entry, "REQUESTED");
  }
  if (entry.timer) step.state.timers.remove(entry.timer);
  entry.timer = null;
  const startedAt = assigned.startedAt ?? hold.startedAt;
  if (startedAt !== null) markStarted(step, entry, assigned, startedAt);
  if (entry.rowState === "PENDING") step.state.young.add(entry, entry.row.attempt, step.now);
}

function workerLost(step: Step, workerId: string, reason: string): void {
  const { adopting, workers } = step.state;
  const holding = [...(workers.get(workerId)?.holding ?? []), ...(adopting.get(workerId) ?? [])];
  if (workers.remove(workerId)) regroupClasses(step);
  for (const entry of holding) attemptGivenUp(step, entry, "WORKER_LOST", reason);
  adopting.delete(workerId);
}

function workerDraining(step: Step, workerId: string): void {
  const worker = step.state.workers.get(workerId);
  if (worker === undefined) return;
  worker.draining = true;
  refreshWorker(step, worker);
}

function credit(step: Step, from: string, workerId: string, granted: number): void {
  const worker = step.state.workers.get(workerId);
  // Cumulative, so that a lost or repeated message neither leaks nor doubles a slot.
  if (worker === undefined || worker.gateway !== from || granted <= worker.granted) return;
  worker.granted = granted;
  refreshWorker(step, worker);
}

export function refreshWorker(step: Step, worker: WorkerSlots): void {
  step.state.workers.refresh(worker, poolOf(step.state, worker.profile.pool).placement);
}

function regroupClasses(step: Step): void {
  const { lanes, workers } = step.state;
  for (const pool of lanes.pools()) {
    for (const work of lanes.classes(pool)) work.groups = workers.groupsFor(work);
  }
}
