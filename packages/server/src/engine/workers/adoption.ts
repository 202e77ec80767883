import type { EpochMs, Incarnation, WorkerId } from "../../domain/ids.ts";
import type { FromGateway } from "../../ports/messages.ts";
import { attemptGivenUp } from "../attempts/attempts.ts";
import type { Assigned, Entry } from "../entry.ts";
import { clearTimer, type Step, setTimer } from "../state.ts";
import { builtinOf, isBuiltin } from "./builtin-id.ts";
import type { WorkerSlots } from "./workers.ts";

/** Workers in one WHO message. */
const ASKED_MAX = 1_000;
/**
 * Age in ms above which the answer to a question does not count: the worker may have connected to that gateway since.
 */
const FRESH_MS = 2_500;
/** Interval in ms at which the machine checks a search again after the worker has had its time to connect. */
const JUDGE_AGAIN_MS = 500;
/**
 * Time in ms after which the owner asks for a worker that its gateway has not listed: the report of the worker's end
 * may have been lost.
 */
const UNLISTED_MS = 3_000;

/**
 * Starts the search for the worker that holds this attempt.
 * @param connection number of the worker's last connection that the owner knows; default: none
 */
export function seek(step: Step, entry: Entry, assigned: Assigned, connection = 0): void {
  const { state, now } = step;
  const { workerId } = assigned;
  if (isBuiltin(workerId) && !livesInServer(step, workerId)) {
    return attemptGivenUp(step, entry, "WORKER_LOST", "it ran inside a server that has ended");
  }
  Object.assign(assigned, { soughtSince: now, worker: null, stopping: null });
  const search = state.adopting.get(workerId) ?? { entries: new Set(), connection, absentAt: new Map() };
  search.connection = Math.max(search.connection, connection);
  state.adopting.set(workerId, search);
  search.entries.add(entry);
  setTimer(state, entry, now + state.limits.reconnectMs);
}

/**
 * Checks a search whose worker has had its time to connect again. The worker is lost if no gateway can still have it.
 */
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

/** Applies a gateway's answer that it does not have these workers. */
export function workersAbsent(
  step: Step,
  from: Incarnation,
  { askedAt, workerIds }: Extract<FromGateway, { kind: "ABSENT" }>,
): void {
  for (const id of workerIds) {
    const worker = step.state.workers.get(id);
    // If the worker has connected there since the question, its introduction left after this answer.
    if (worker?.gateway === from && worker.listedAt < askedAt) loseTrack(step, worker);
    noteAbsence(step, from, id, askedAt);
  }
}

/** @param at time of the owner's question, or of the report of the loss */
export function noteAbsence({ state }: Step, from: Incarnation, workerId: WorkerId, at: EpochMs): void {
  state.adopting.get(workerId)?.absentAt.set(from, at);
}

/** Starts the search for a worker that is not at its gateway any more and may be elsewhere. */
export function loseTrack(step: Step, worker: WorkerSlots): void {
  const isGroupGone = step.state.workers.remove(worker.profile.workerId);
  if (isGroupGone) step.state.lanes.regroup(step.state.workers.groupsFor);
  for (const entry of [...worker.held]) {
    worker.held.delete(entry);
    clearTimer(step.state, entry);
    if (entry.assigned !== null) seek(step, entry, entry.assigned, worker.connection);
  }
}

/** Ends searches for built-in workers whose server has ended. */
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

/** Whether the worker's server is alive. Such a server may have released the shard and still run attempts of it. */
function livesInServer({ state }: Step, workerId: WorkerId): boolean {
  return builtinOf(state.incarnation, workerId) || [...state.gateways].some((server) => builtinOf(server, workerId));
}
