import { attemptKey, type Incarnation } from "../domain/ids.ts";
import type { FromGateway, HeldAttempt } from "../ports/messages.ts";
import { attemptFinished, attemptGivenUp, attemptStarted, markStarted, refuse } from "./attempts.ts";
import { orderStop, sendStop } from "./cancel.ts";
import { recall, refreshWorker, takeCredits } from "./credit.ts";
import { type Assigned, type Entry, isCancelled } from "./entry.ts";
import { type Step, setTimer } from "./state.ts";
import type { WorkerSlots } from "./workers.ts";

/** How often silence is judged. A judge that comes later than twice this was held up, and can blame nobody. */
const JUDGE_EVERY_MS = 5_000;
/** After one gateway gave a worker up, how long another may take to say that it has it. */
const ELSEWHERE_WITHIN_MS = 5_000;

type WorkerUp = Extract<FromGateway, { kind: "WORKER_UP" }>;
type WorkerLost = Extract<FromGateway, { kind: "WORKER_LOST" }>;

/** What gateways say of their workers. */
export function fromGateway(step: Step, from: string, message: FromGateway): void {
  switch (message.kind) {
    case "WORKER_UP":
      return workerUp(step, from, message);
    case "WORKER_LOST":
      return workerLost(step, from, message);
    case "WORKER_DRAINING":
      return workerDraining(step, from, message.workerId);
    case "CREDITS":
      if (message.term === step.state.term) takeCredits(step, from, message.roll, message.credits);
      return;
    case "RECALL":
      if (message.term === step.state.term) recall(step, from, message.workers);
      return;
    case "STARTED":
      for (const started of message.tokens) attemptStarted(step, from, started);
      return;
    case "FINISHED":
      for (const finished of message.results) attemptFinished(step, from, finished);
  }
}

function workerUp(step: Step, from: string, message: WorkerUp): void {
  const { workers } = step.state;
  const { worker: profile, connection, account } = message;
  // What was said before this term's announcement does not speak of all that is owned now; it is said again.
  if (message.term !== step.state.term || isOutdated(workers.get(profile.workerId), from, message)) return;
  const { worker, regroup } = workers.up(profile, { gateway: from, connection, account }, step.now);
  refreshWorker(step, worker);
  for (const entry of worker.holding) if (entry.assigned !== null) entry.assigned.worker = worker;
  if (regroup) regroupClasses(step);
  // It may hold several attempts of an execution: an older one's result may not be acknowledged yet.
  const held = new Map(message.holds.map((hold) => [attemptKey(hold.executionId, hold.attempt), hold]));
  settleHoldings(step, worker, held);
  // What it was told over the connection before may not have reached it.
  for (const entry of worker.holding) sendStop(step, entry);
  for (const hold of message.holds) {
    const entry = step.state.entries.get(hold.executionId);
    const known = entry?.place === "ASSIGNED" && entry.row.attempt === hold.attempt;
    if (!known || entry.assigned?.workerId !== profile.workerId) refuse(step, from, profile.workerId, hold);
  }
}

/** The worker has moved on since this was said: the highest connection says where it is, the highest account what counts. */
function isOutdated(known: WorkerSlots | undefined, from: string, said: WorkerUp): boolean {
  if (known === undefined) return false;
  if (known.gateway === from) return said.account < known.account;
  return said.connection < known.connection;
}

/**
 * What was given to this worker by an earlier owner or over an earlier connection: it has it, or it never will, because
 * its gateway delivers nothing any more that was assigned under another account or epoch. But what an earlier owner sent
 * through another gateway may be known there only: this one may not have noticed yet that the worker has left.
 */
function settleHoldings(step: Step, worker: WorkerSlots, held: ReadonlyMap<string, HeldAttempt>): void {
  const adopting = step.state.adopting.get(worker.profile.workerId) ?? [];
  const missing: Entry[] = [];
  for (const entry of [...adopting, ...worker.holding]) {
    const { assigned } = entry;
    if (assigned === null) continue;
    const hold = held.get(attemptKey(entry.id, entry.row.attempt));
    if (hold !== undefined) confirm(step, entry, assigned, worker, hold);
    else if (assigned.adopting && assigned.gateway !== worker.gateway) missElsewhere(step, entry, assigned, worker);
    else if (assigned.gateway !== worker.gateway || assigned.account !== worker.account) missing.push(entry);
  }
  if (step.state.adopting.get(worker.profile.workerId)?.size === 0) {
    step.state.adopting.delete(worker.profile.workerId);
  }
  // A process that has forgotten what it had begun is another one under the same name.
  const forgot = missing.some((entry) => entry.assigned?.startedAt != null);
  for (const entry of missing) {
    if (forgot) attemptGivenUp(step, entry, "WORKER_LOST", "another process took the worker's id");
    else attemptGivenUp(step, entry, "RELEASED", "");
  }
}

function confirm(step: Step, entry: Entry, assigned: Assigned, worker: WorkerSlots, hold: HeldAttempt): void {
  step.state.adopting.get(assigned.workerId)?.delete(entry);
  if (assigned.gateway !== worker.gateway || assigned.account !== worker.account) {
    // Under this account it has no number.
    Object.assign(assigned, { gateway: worker.gateway, account: worker.account, credit: 0 });
  }
  assigned.worker = worker;
  worker.holding.add(entry);
  if (assigned.adopting) {
    assigned.adopting = false;
    takeUpTimer(step, entry, assigned, hold);
  } else if (hold.startedAt !== null && assigned.startedAt === null) {
    markStarted(step, entry, assigned, hold.startedAt);
  }
}

function takeUpTimer(step: Step, entry: Entry, assigned: Assigned, hold: HeldAttempt): void {
  if (isCancelled(entry)) {
    // The order to stop is given again, and its time begins anew.
    return orderStop(step, entry, "REQUESTED");
  }
  if (entry.timer) step.state.timers.remove(entry.timer);
  entry.timer = null;
  const startedAt = assigned.startedAt ?? hold.startedAt;
  if (startedAt !== null) markStarted(step, entry, assigned, startedAt);
  if (entry.rowState === "PENDING") step.state.young.add(entry, entry.row.attempt, step.now);
}

function workerLost(step: Step, from: string, { workerId, connection, reason }: WorkerLost): void {
  const { adopting, workers } = step.state;
  // What was not given to it through this gateway, it may have through another, which has not answered yet. And also what
  // was may have gone elsewhere with it since.
  const worker = workers.get(workerId);
  // It went to another gateway before this one gave it up.
  const isElsewhere = worker !== undefined && worker.gateway !== from && worker.connection >= connection;
  for (const entry of adopting.get(workerId) ?? []) {
    if (entry.assigned?.gateway === from) leftGateway(step, entry, entry.assigned, { connection, isElsewhere });
  }
  // What is known of it may be older than what this gateway says, which it has left since: those that have it, or had it, say so
  // themselves, and where nobody does its silence is judged.
  if (worker?.gateway !== from || worker.connection > connection) return;
  giveUpWorker(step, worker, workers.remove(workerId), reason);
}

/** Gateways that live, also where this owner cannot reach them: what was sent through them may be running. */
export function takeGateways(step: Step, gateways: readonly Incarnation[]): void {
  const { state } = step;
  const before = state.gateways;
  state.gateways = new Set(gateways);
  for (const entries of state.adopting.values()) {
    for (const entry of entries) {
      const { assigned } = entry;
      if (assigned === null || assigned.missedOn === null || assigned.leftOn !== null) continue;
      if (!state.gateways.has(assigned.gateway)) adoptSoon(step, entry);
      // It was taken for dead, and what was sent through it for lost.
      else if (!before.has(assigned.gateway)) setTimer(state, entry, step.now + state.limits.adoptWithinMs);
    }
  }
}

/** A gateway that lives will say itself whether the worker was there; of one that is gone, nobody will hear. */
function missElsewhere(step: Step, entry: Entry, assigned: Assigned, { connection }: WorkerSlots): void {
  assigned.missedOn = Math.max(connection, assigned.missedOn ?? 0);
  if (assigned.leftOn !== null || !step.state.gateways.has(assigned.gateway)) adoptSoon(step, entry);
}

/** Where it is known to have gone, its next gateway will say whether it has this. */
function leftGateway(
  step: Step,
  entry: Entry,
  assigned: Assigned,
  { connection, isElsewhere }: { connection: number; isElsewhere: boolean },
): void {
  assigned.leftOn = Math.max(connection, assigned.leftOn ?? 0);
  if (!isElsewhere || assigned.missedOn !== null) adoptSoon(step, entry);
}

function adoptSoon(step: Step, entry: Entry): void {
  const at = step.now + ELSEWHERE_WITHIN_MS;
  if (entry.timer === null || entry.timer.key > at) setTimer(step.state, entry, at);
}

function giveUpWorker(step: Step, worker: WorkerSlots, isGroupGone: boolean, reason: string): void {
  if (isGroupGone) regroupClasses(step);
  for (const entry of [...worker.holding]) attemptGivenUp(step, entry, "WORKER_LOST", reason);
}

/** Workers whose gateway has fallen silent had time to come back through another. */
export function judgeSilence(step: Step): void {
  const { state, now } = step;
  if (now < state.judgedAt + JUDGE_EVERY_MS) return;
  const wasHeldUp = now > state.judgedAt + 2 * JUDGE_EVERY_MS;
  state.judgedAt = now;
  for (const worker of [...state.workers.all()]) {
    if (wasHeldUp) worker.heardAt = Math.max(worker.heardAt, now);
    else if (now - worker.heardAt > state.limits.silenceMs) {
      giveUpWorker(
        step,
        worker,
        state.workers.remove(worker.profile.workerId),
        `its gateway was not heard of for ${state.limits.silenceMs} ms`,
      );
    } else if (now - worker.heardAt > JUDGE_EVERY_MS && !worker.silent) {
      // What is given to it now may not arrive.
      worker.silent = true;
      refreshWorker(step, worker);
    }
  }
}

/** When the silence of workers is to be judged next; null: there are none. */
export function nextJudgement(state: Step["state"]): number | null {
  return state.workers.isEmpty ? null : state.judgedAt + JUDGE_EVERY_MS;
}

function workerDraining(step: Step, from: string, workerId: string): void {
  const worker = step.state.workers.get(workerId);
  if (worker?.gateway !== from) return;
  worker.draining = true;
  refreshWorker(step, worker);
}

function regroupClasses(step: Step): void {
  const { lanes, workers } = step.state;
  for (const pool of lanes.pools()) {
    for (const work of lanes.classes(pool)) work.groups = workers.groupsFor(work);
  }
}
