import type { EpochMs, Incarnation, WorkerId } from "../../domain/ids.ts";
import type { FromGateway } from "../../ports/messages.ts";
import { attemptGivenUp } from "../attempts/attempts.ts";
import type { Assigned, Entry } from "../entry.ts";
import { clearTimer, type Step, setTimer } from "../state.ts";
import { builtinOf, isBuiltin } from "./builtin-id.ts";
import type { WorkerSlots } from "./workers.ts";

/** Workers in one question. */
const ASKED_MAX = 1_000;
/** An answer to a question that is older than this tells too little: the worker may have come to that gateway since. */
const FRESH_MS = 2_500;
/** Interval at which a search is judged again after the worker has had its time. */
const JUDGE_AGAIN_MS = 500;
/** A worker that its gateway has not listed for so long is asked for: the news of its end may have been lost. */
const UNLISTED_MS = 3_000;

/** Begins to seek the worker that has this attempt. */
export function seek(step: Step, entry: Entry, assigned: Assigned): void {
  const { state, now } = step;
  const { workerId } = assigned;
  if (isBuiltin(workerId) && !livesInServer(step, workerId)) {
    return attemptGivenUp(step, entry, "WORKER_LOST", "it ran inside a server that has ended");
  }
  Object.assign(assigned, { soughtSince: now, worker: null, stopping: null });
  const search = state.adopting.get(workerId) ?? { entries: new Set(), absentAt: new Map() };
  state.adopting.set(workerId, search);
  search.entries.add(entry);
  setTimer(state, entry, now + state.limits.reconnectMs);
}

/** The time to connect again is over; the worker is lost where no gateway can still have it. */
export function judgeSearch(step: Step, entry: Entry, assigned: Assigned): void {
  const { state, now } = step;
  const giveUpAt = (assigned.soughtSince ?? now) + state.limits.adoptWithinMs;
  if (now < giveUpAt && !isAbsentEverywhere(step, assigned.workerId)) {
    return setTimer(state, entry, Math.min(giveUpAt, now + JUDGE_AGAIN_MS));
  }
  attemptGivenUp(step, entry, "WORKER_LOST", "its worker did not come back after its server was gone");
}

function isAbsentEverywhere({ state, now }: Step, workerId: WorkerId): boolean {
  const absentAt = state.adopting.get(workerId)?.absentAt;
  if (absentAt === undefined || state.gateways.size === 0) return false;
  return [...state.gateways].every((gateway) => now - (absentAt.get(gateway) ?? Number.NEGATIVE_INFINITY) <= FRESH_MS);
}

/** A gateway does not have these workers. */
export function workersAbsent(
  step: Step,
  from: Incarnation,
  { askedAt, workerIds }: Extract<FromGateway, { kind: "ABSENT" }>,
): void {
  for (const id of workerIds) {
    const worker = step.state.workers.get(id);
    // A worker that has come there since the question was introduced after this answer left.
    if (worker?.gateway === from && worker.listedAt < askedAt) loseTrack(step, worker);
    noteAbsence(step, from, id, askedAt);
  }
}

/** @param at time of the owner's question, or of the news */
export function noteAbsence({ state }: Step, from: Incarnation, workerId: WorkerId, at: EpochMs): void {
  state.adopting.get(workerId)?.absentAt.set(from, at);
}

/** The worker is not where it was, and may be elsewhere. */
export function loseTrack(step: Step, worker: WorkerSlots): void {
  const isGroupGone = step.state.workers.remove(worker.profile.workerId);
  if (isGroupGone) step.state.lanes.regroup(step.state.workers.groupsFor);
  for (const entry of [...worker.holding]) {
    worker.holding.delete(entry);
    clearTimer(step.state, entry);
    if (entry.assigned !== null) seek(step, entry, entry.assigned);
  }
}

/** Attempts that wait for a built-in worker whose server has ended meanwhile. */
export function endBuiltinSearches(step: Step): void {
  for (const [workerId, { entries }] of [...step.state.adopting]) {
    if (!isBuiltin(workerId) || livesInServer(step, workerId)) continue;
    for (const entry of [...entries]) {
      attemptGivenUp(step, entry, "WORKER_LOST", "it ran inside a server that has ended");
    }
  }
}

/** Asks every living gateway for workers that are sought, and each gateway for those that it has not listed lately. */
export function askForWorkers(step: Step): void {
  const { state, now } = step;
  const sought = [...state.adopting.keys()];
  const unlisted = new Map<Incarnation, WorkerId[]>();
  for (const { gateway, listedAt, profile } of state.workers.all()) {
    if (now - listedAt < UNLISTED_MS || state.workers.silent.has(gateway)) continue;
    const there = unlisted.get(gateway);
    if (there === undefined) unlisted.set(gateway, [profile.workerId]);
    else there.push(profile.workerId);
  }
  for (const gateway of new Set([...state.gateways, ...unlisted.keys()])) {
    ask(step, gateway, [...sought, ...(unlisted.get(gateway) ?? [])]);
  }
}

function ask({ batch, now }: Step, node: Incarnation, workerIds: readonly WorkerId[]): void {
  for (let i = 0; i < workerIds.length; i += ASKED_MAX) {
    const part = workerIds.slice(i, i + ASKED_MAX);
    batch.toGateway.push({ node, message: { kind: "WHO", workerIds: part, askedAt: now } });
  }
}

/** A server that lives may have let the shard go and still run what it had of it. */
function livesInServer({ state }: Step, workerId: WorkerId): boolean {
  return builtinOf(state.incarnation, workerId) || [...state.gateways].some((server) => builtinOf(server, workerId));
}
