import { attemptKey, type EpochMs, type Incarnation } from "../../domain/ids.ts";
import type { FromGateway, HeldAttempt } from "../../ports/messages.ts";
import {
  attemptFinished,
  attemptGivenUp,
  attemptStarted,
  markStarted,
  persistUnstarted,
  refuse,
} from "../attempts/attempts.ts";
import { orderStop, sendStop } from "../attempts/cancel.ts";
import { stepReported } from "../attempts/steps.ts";
import { type Assigned, type Entry, isCancelled } from "../entry.ts";
import { clearTimer, type Step } from "../state.ts";
import { askForWorkers, endBuiltinSearches, loseTrack, noteAbsence, workersAbsent } from "./adoption.ts";
import { applyCredits, refreshWorker, revoke } from "./credit.ts";
import { endSearch } from "./search.ts";
import { takeBackWaiting } from "./take-back.ts";
import type { WorkerSlots } from "./workers.ts";

/**
 * Interval in ms at which the machine checks for silent gateways. If the check runs later than twice this, the process
 * itself was stalled, so no gateway is declared silent.
 */
const JUDGE_EVERY_MS = 5_000;
/**
 * Time in ms for which a gateway that has sent messages counts as living although it is not listed: it may have just
 * started.
 */
const UNLISTED_GATEWAY_MS = 3_000;

type WorkerUp = Extract<FromGateway, { kind: "WORKER_UP" }>;
type WorkerLost = Extract<FromGateway, { kind: "WORKER_LOST" }>;

/** Applies a gateway's message about its workers. */
export function fromGateway(step: Step, from: string, message: FromGateway): void {
  hear(step, from);
  switch (message.kind) {
    case "WORKER_UP":
      return workerUp(step, from, message);
    case "WORKER_LOST":
      return workerLost(step, from, message);
    case "ABSENT":
      return workersAbsent(step, from, message);
    case "WORKER_DRAINING":
      return workerDraining(step, from, message.workerId);
    case "CREDITS":
      if (message.term === step.state.term) applyCredits(step, from, message.roll, message.credits);
      return;
    case "RECALL":
      if (message.term === step.state.term) revoke(step, from, message.workers);
      return;
    case "STARTED":
      for (const started of message.tokens) attemptStarted(step, from, started);
      return;
    case "FINISHED":
      for (const finished of message.results) attemptFinished(step, from, finished);
      return;
    case "STEPS":
      for (const reported of message.steps) stepReported(step, from, reported);
  }
}

function workerUp(step: Step, from: string, message: WorkerUp): void {
  const { workers } = step.state;
  const { worker: profile, connection, account } = message;
  // A message of an earlier term does not cover every shard that this node owns now. The gateway sends it again.
  if (message.term !== step.state.term || isOutdated(step, from, message)) return;
  const { worker, regroup } = workers.up(profile, { gateway: from, connection, account }, step.now);
  refreshWorker(step, worker);
  for (const entry of worker.held) if (entry.assigned !== null) entry.assigned.worker = worker;
  if (regroup) step.state.lanes.regroup(step.state.workers.groupsFor);
  // The worker may hold several attempts of an execution, because the result of an older one may be unacknowledged.
  const held = new Map(message.holds.map((hold) => [attemptKey(hold.executionId, hold.attempt), hold]));
  settleHeld(step, worker, held, message.isAnswer === true);
  // Stops sent over the former connection may not have reached the worker.
  for (const entry of worker.held) sendStop(step, entry);
  for (const hold of message.holds) {
    const entry = step.state.entries.get(hold.executionId);
    const known = entry?.place === "ASSIGNED" && entry.row.attempt === hold.attempt;
    if (!known || entry.assigned?.workerId !== profile.workerId) refuse(step, from, profile.workerId, hold);
  }
}

/**
 * Whether the worker has moved on since this message was sent. The highest connection tells where the worker is, and
 * the highest account is the valid one. A gateway that has not noticed the end of an earlier connection does not know the
 * attempts that the worker got over a later one.
 */
function isOutdated({ state }: Step, from: string, said: WorkerUp): boolean {
  const { workerId } = said.worker;
  const known = state.workers.get(workerId);
  if (known === undefined) return said.connection < (state.adopting.get(workerId)?.connection ?? 0);
  if (known.gateway === from) return said.account < known.account;
  return said.connection < known.connection;
}

/**
 * Settles attempts that the worker does not list although they were assigned to it. The worker will never have them,
 * because its gateway delivers nothing more that was assigned under another account, and the worker takes nothing of an
 * epoch that is older than its answer.
 */
function settleHeld(step: Step, worker: WorkerSlots, held: ReadonlyMap<string, HeldAttempt>, isAnswer: boolean): void {
  const sought = step.state.adopting.get(worker.profile.workerId)?.entries ?? [];
  const missing: Entry[] = [];
  for (const entry of [...sought, ...worker.held]) {
    const { assigned } = entry;
    if (assigned === null) continue;
    const hold = held.get(attemptKey(entry.id, entry.row.attempt)) ?? null;
    if (hold !== null || isOnItsWay(assigned, worker)) confirm(step, entry, assigned, worker, hold);
    // An earlier owner may have sent the attempt through a gateway that has not noticed yet that the worker has left.
    else if (assigned.account !== 0 || isAnswer || assigned.gateway === worker.gateway) missing.push(entry);
  }
  // A process that does not know an attempt that it had started is another process with the same id.
  const forgot = missing.some((entry) => entry.assigned?.startedAt != null);
  for (const entry of missing) {
    if (forgot) attemptGivenUp(step, entry, "WORKER_LOST", "another process took the worker's id");
    else attemptGivenUp(step, entry, "RELEASED", "");
  }
}

/**
 * Whether this owner assigned the attempt under the valid account, so that the assignment may arrive after the worker's
 * message.
 */
function isOnItsWay(assigned: Assigned, worker: WorkerSlots): boolean {
  return assigned.gateway === worker.gateway && assigned.account === worker.account;
}

function confirm(step: Step, entry: Entry, assigned: Assigned, worker: WorkerSlots, hold: HeldAttempt | null): void {
  if (!isOnItsWay(assigned, worker)) {
    // The attempt has no number under this account.
    Object.assign(assigned, { gateway: worker.gateway, account: worker.account, credit: 0 });
  }
  assigned.worker = worker;
  worker.held.add(entry);
  const startedAt = hold?.startedAt ?? null;
  if (assigned.soughtSince !== null) {
    endSearch(step, entry, assigned);
    resumeTimer(step, entry, assigned, startedAt);
  } else if (startedAt !== null && assigned.startedAt === null) markStarted(step, entry, assigned, startedAt);
}

function resumeTimer(step: Step, entry: Entry, assigned: Assigned, heldSince: EpochMs | null): void {
  // The owner repeats the order to stop, and the grace time starts again.
  if (isCancelled(entry)) return orderStop(step, entry, "REQUESTED");
  clearTimer(step.state, entry);
  const startedAt = assigned.startedAt ?? heldSince;
  if (startedAt !== null) markStarted(step, entry, assigned, startedAt);
}

function workerLost(step: Step, from: string, { workerId, connection, reason }: WorkerLost): void {
  const { workers } = step.state;
  noteAbsence(step, from, workerId, step.now);
  const worker = workers.get(workerId);
  // The report may be outdated: the worker may have left this gateway since. It is listed at its present gateway then.
  if (worker?.gateway !== from || worker.connection > connection) return;
  giveUpWorker(step, worker, workers.remove(workerId), reason);
}

/** Applies the list of living gateways, including gateways that this owner cannot reach. Comes once a second. */
export function applyGateways(step: Step, gateways: readonly Incarnation[]): void {
  const { state } = step;
  const before = state.gateways;
  state.gateways = new Set(gateways);
  for (const worker of [...state.workers.all()]) if (isGone(step, worker.gateway, before)) loseTrack(step, worker);
  endBuiltinSearches(step);
  askForWorkers(step);
  takeBackWaiting(step);
  persistUnstarted(step);
}

/** Whether a gateway is gone. A gateway that has just started may send messages before it is listed. */
function isGone({ state, now }: Step, gateway: Incarnation, before: ReadonlySet<Incarnation>): boolean {
  if (state.gateways.has(gateway)) return false;
  return before.has(gateway) || now - (state.heard.get(gateway) ?? 0) > UNLISTED_GATEWAY_MS;
}

function giveUpWorker(step: Step, worker: WorkerSlots, isGroupGone: boolean, reason: string): void {
  if (isGroupGone) step.state.lanes.regroup(step.state.workers.groupsFor);
  for (const entry of [...worker.held]) attemptGivenUp(step, entry, "WORKER_LOST", reason);
}

/**
 * Gives up the workers of gateways that have been silent for so long that the workers had time to connect to another
 * one.
 */
export function judgeSilence(step: Step): void {
  const { state, now } = step;
  if (now < state.judgedAt + JUDGE_EVERY_MS) return;
  const wasHeldUp = now > state.judgedAt + 2 * JUDGE_EVERY_MS;
  state.judgedAt = now;
  for (const [gateway, heardAt] of [...state.heard]) {
    if (wasHeldUp) state.heard.set(gateway, Math.max(heardAt, now));
    else if (now - heardAt > state.limits.silenceMs) giveUpGateway(step, gateway);
    else if (now - heardAt > JUDGE_EVERY_MS && !state.workers.silent.has(gateway)) setSilent(step, gateway, true);
  }
}

function giveUpGateway(step: Step, gateway: Incarnation): void {
  const { heard, limits, workers } = step.state;
  heard.delete(gateway);
  workers.silent.delete(gateway);
  for (const worker of [...workers.all()]) {
    if (worker.gateway !== gateway) continue;
    const isGroupGone = workers.remove(worker.profile.workerId);
    giveUpWorker(step, worker, isGroupGone, `its gateway was not heard of for ${limits.silenceMs} ms`);
  }
}

function hear(step: Step, gateway: Incarnation): void {
  step.state.heard.set(gateway, step.now);
  if (step.state.workers.silent.has(gateway)) setSilent(step, gateway, false);
}

/** Marks a gateway as silent or not. A silent gateway's workers get no assignments, which might not arrive. */
function setSilent(step: Step, gateway: Incarnation, isSilent: boolean): void {
  const { workers } = step.state;
  if (isSilent) workers.silent.add(gateway);
  else workers.silent.delete(gateway);
  for (const worker of workers.all()) if (worker.gateway === gateway) refreshWorker(step, worker);
}

/** Time of the next check for silent gateways; null: there are no workers. */
export function nextJudgement(state: Step["state"]): number | null {
  return state.workers.isEmpty ? null : state.judgedAt + JUDGE_EVERY_MS;
}

function workerDraining(step: Step, from: string, workerId: string): void {
  const worker = step.state.workers.get(workerId);
  if (worker?.gateway !== from) return;
  worker.draining = true;
  refreshWorker(step, worker);
}
