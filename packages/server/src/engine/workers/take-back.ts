import type { EpochMs } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";
import type { Entry } from "../entry.ts";
import { keyOf } from "../fair/shares.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { poolOf, type Step } from "../state.ts";
import type { Group, WorkerSlots } from "./workers.ts";

/**
 * Attempts of one work class that wait at full workers while other workers have free slots without credit for this
 * owner.
 */
export interface Stranded {
  /** Rank of the most urgent of them. */
  rank: EpochMs;
  /** Attempts per weight of the tenant among them that has the fewest. */
  share: number;
  readonly entries: Set<Entry>;
}

/** Tokens of attempts to take back, by the worker where they wait. */
type Wanted = Map<WorkerSlots, Token[]>;

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
  const wanted: Wanted = new Map();
  for (const entry of unstarted) {
    const worker = waitsAt(step, entry);
    const work = entry.lane?.work;
    if (worker === null || work === undefined || wanted.get(worker)?.length === TOKENS_MAX) continue;
    const left = room.get(work) ?? freeSlots(work);
    room.set(work, Math.max(0, left - 1));
    if (left > 0) want(wanted, worker, entry);
    else if (work.groups.some((group) => idle.has(group))) strand(stranded, work, entry);
  }
  send(step, wanted);
}

/**
 * Takes stranded attempts back as soon as credit arrives for them, as far as ready work has left it. Where other owners
 * want the credit too, this owner may have to return it long before `takeBackWaiting` runs again.
 */
export function takeBackStranded(step: Step): void {
  const { credited, stranded } = step.state;
  // The check saves an allocation: clearing a Set allocates a new table even if the Set is empty.
  if (credited.size === 0) return;
  const wanted: Wanted = new Map();
  for (const worker of credited) {
    // A worker without a node was removed, or has no credit left.
    let left = worker.node === null ? 0 : unusedSlots(worker);
    for (const [work, { entries }] of stranded) {
      if (left > 0 && work.groups.includes(worker.group)) left -= wantSome(step, wanted, entries, left);
    }
  }
  credited.clear();
  send(step, wanted);
}

/** Moves up to `most` attempts from `entries` to `wanted`. @returns the number of moved attempts */
function wantSome(step: Step, wanted: Wanted, entries: Set<Entry>, most: number): number {
  let moved = 0;
  for (const entry of entries) {
    if (moved === most) break;
    entries.delete(entry);
    const worker = step.state.unstarted.has(entry) ? waitsAt(step, entry) : null;
    if (worker === null || wanted.get(worker)?.length === TOKENS_MAX) continue;
    want(wanted, worker, entry);
    moved++;
  }
  return moved;
}

/** The full worker where an attempt waits that may be taken back; null: the attempt stays where it is. */
function waitsAt({ state, now }: Step, { assigned, row }: Entry): WorkerSlots | null {
  if (assigned === null || now - assigned.at < TRAVEL_MS || assigned.stopping !== null) return null;
  if (assigned.soughtSince !== null || poolOf(state, row.pool).paused) return null;
  // A worker with free slots is about to start its waiting attempts.
  return assigned.worker?.freeSlots === 0 ? assigned.worker : null;
}

function want(wanted: Wanted, worker: WorkerSlots, { id, row }: Entry): void {
  const tokens = wanted.get(worker) ?? [];
  wanted.set(worker, tokens);
  tokens.push({ shard: row.shard, executionId: id, attempt: row.attempt });
}

function groupsWithFreeSlots({ state }: Step): Set<Group> {
  const idle = new Set<Group>();
  for (const { group, freeSlots, draining } of state.workers.all()) {
    if (!draining && freeSlots !== null && freeSlots > 0) idle.add(group);
  }
  return idle;
}

function strand(stranded: Map<WorkClass, Stranded>, work: WorkClass, entry: Entry): void {
  const known = stranded.get(work) ?? { rank: entry.row.rank, share: Number.POSITIVE_INFINITY, entries: new Set() };
  stranded.set(work, known);
  known.rank = Math.min(known.rank, entry.row.rank);
  if (entry.assigned !== null) known.share = Math.min(known.share, keyOf(entry.assigned.share));
  known.entries.add(entry);
}

/** Number of free slots that workers of this class have and that were allocated to this owner. */
function freeSlots(work: WorkClass): number {
  let free = 0;
  for (const group of work.groups) {
    for (const { item } of group.free.nodes()) free += unusedSlots(item);
  }
  return free;
}

/** Number of the worker's free slots for which this owner has unused credit. */
function unusedSlots({ granted, sent, freeSlots: free }: WorkerSlots): number {
  return Math.min(granted - sent, free ?? 0);
}

function send({ batch }: Step, wanted: Wanted): void {
  for (const [{ gateway, profile }, tokens] of wanted) {
    batch.toGateway.push({ node: gateway, message: { kind: "TAKE_BACK", workerId: profile.workerId, tokens } });
  }
}
