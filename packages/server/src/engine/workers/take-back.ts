import type { EpochMs, WorkerId } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";
import type { Entry } from "../entry.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { poolOf, type Step } from "../state.ts";
import type { Group, WorkerSlots } from "./workers.ts";

/** Attempts in one TAKE_BACK message. */
const TOKENS_MAX = 1_000;
/** Time in ms since the assignment for which an attempt may be on its way to its worker, and is not taken back. */
const TRAVEL_MS = 1_000;

/**
 * Asks gateways to take back attempts that wait at a worker although another worker has a free slot for them. A slow
 * worker, or one whose handlers do not end, therefore delays its waiting attempts only for a moment. If the free slots
 * are allocated to other owners, the attempts become demand for credit.
 */
export function takeBackWaiting(step: Step): void {
  const { unstarted, stranded } = step.state;
  stranded.clear();
  if (unstarted.size === 0) return;
  const idle = groupsWithFreeSlots(step);
  const room = new Map<WorkClass, number>();
  const wanted = new Map<WorkerSlots, Token[]>();
  for (const entry of unstarted) {
    const worker = movable(step, entry);
    const work = entry.lane?.work;
    if (worker === null || work === undefined) continue;
    const left = room.get(work) ?? freeSlots(work);
    const tokens = wanted.get(worker) ?? [];
    // A worker with free slots is about to start its waiting attempts.
    if (worker.freeSlots !== 0 || tokens.length === TOKENS_MAX) continue;
    if (left === 0) {
      if (work.groups.some((group) => idle.has(group))) strand(stranded, entry);
      continue;
    }
    room.set(work, left - 1);
    wanted.set(worker, tokens);
    tokens.push({ shard: entry.row.shard, executionId: entry.id, attempt: entry.row.attempt });
  }
  for (const [worker, tokens] of wanted) send(step, worker, worker.profile.workerId, tokens);
}

function movable({ state, now }: Step, { assigned, row }: Entry): WorkerSlots | null {
  if (assigned === null || now - assigned.at < TRAVEL_MS || assigned.stopping !== null) return null;
  return assigned.soughtSince === null && !poolOf(state, row.pool).paused ? assigned.worker : null;
}

function groupsWithFreeSlots({ state }: Step): Set<Group> {
  const idle = new Set<Group>();
  for (const { group, freeSlots, draining } of state.workers.all()) {
    if (!draining && freeSlots !== null && freeSlots > 0) idle.add(group);
  }
  return idle;
}

function strand(stranded: Map<string, EpochMs>, { row }: Entry): void {
  stranded.set(row.pool, Math.min(row.rank, stranded.get(row.pool) ?? Number.POSITIVE_INFINITY));
}

/** Number of free slots that workers of this class have and that were allocated to this owner. */
function freeSlots(work: WorkClass): number {
  let free = 0;
  for (const group of work.groups) {
    for (const { item } of group.free.nodes()) free += Math.min(item.granted - item.sent, item.freeSlots ?? 0);
  }
  return free;
}

function send({ batch }: Step, worker: WorkerSlots, workerId: WorkerId, tokens: Token[]): void {
  batch.toGateway.push({ node: worker.gateway, message: { kind: "TAKE_BACK", workerId, tokens } });
}
