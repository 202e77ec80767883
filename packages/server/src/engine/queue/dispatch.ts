import { invariant } from "../../domain/invariant.ts";
import { nextAttempt } from "../../domain/lost-attempts.ts";
import type { Batch } from "../batch.ts";
import type { Entry } from "../entry.ts";
import { tellAssigned } from "../events.ts";
import { type Contender, isBefore, rankOf, readyOf } from "../fair/contender.ts";
import { isKeptFrom } from "../fair/headroom.ts";
import { reorder } from "../fair/shares.ts";
import type { Limits } from "../inputs.ts";
import type { PoolPermits } from "../permits/pool-permits.ts";
import { firstContender, hasTenantRoom, unblockTenants } from "../permits/tenant-permits.ts";
import { clearTimer, poolOf, type Step } from "../state.ts";
import { creditsFor, pickWorker, type WorkerSlots } from "../workers/workers.ts";
import { assignmentOf, newAssigned } from "./assignment.ts";
import { endLate } from "./intake.ts";
import type { WorkClass } from "./lanes.ts";

/**
 * Assignments that a worker gets one after the other where more work is ready than all workers have credit for. They
 * share a message, which in a large fleet costs more than its content.
 */
const IN_TURN = 4;

/** Part of a batch that executions of full lanes may fill before the other executions that are due enter their lanes. */
const CROWD_PART = 7 / 8;

/** Assignments and bytes of a batch up to which it may be filled. */
type Bounds = Pick<Limits, "batchAssigns" | "batchBytes">;

/**
 * Assigns ready executions to free workers until the batch is full: in each pool the tenants in fair order, and the smallest rank of a
 * tenant first. Each pool first gets up to an equal share of the batch, so that no pool's backlog fills batch after batch while another
 * pool waits.
 */
export function dispatch(step: Step): void {
  if (step.state.permits.blocked.size > 0) unblockTenants(step.state);
  const pools = step.state.lanes.served();
  if (pools.size > 1) {
    for (const pool of pools) dispatchPool(step, pool, shareOf(step, pool, pools.size));
  }
  for (const pool of pools) dispatchPool(step, pool, step.state.limits);
}

/**
 * Assigns executions of a pool whose lane is full. A part of the batch stays free for the other pools, whose executions may not have
 * entered their lanes yet.
 * @returns whether the batch had room for all that can be assigned
 */
export function makeRoom(step: Step, pool: string): boolean {
  const { batchAssigns, batchBytes } = step.state.limits;
  const until = { batchAssigns: CROWD_PART * batchAssigns, batchBytes: CROWD_PART * batchBytes };
  dispatchPool(step, pool, until);
  return !isFull(step, until);
}

/** Bounds within which a pool has at most an equal share of the batch. */
export function shareOf({ batch, state }: Step, pool: string, pools: number): Bounds {
  const { batchAssigns, batchBytes } = state.limits;
  const filled = batch.filled.get(pool);
  return {
    batchAssigns: Math.min(batchAssigns, batch.assigns.length + batchAssigns / pools - (filled?.assigns ?? 0)),
    batchBytes: Math.min(batchBytes, batch.bytes + batchBytes / pools - (filled?.bytes ?? 0)),
  };
}

function dispatchPool(step: Step, pool: string, until: Bounds): void {
  const { batch, state } = step;
  if (poolOf(state, pool).paused || isFull(step, until)) return;
  const before = { assigns: batch.assigns.length, bytes: batch.bytes };
  fillFrom(step, pool, until);
  if (batch.assigns.length > before.assigns) noteFilled(batch, pool, before);
}

/** Notes the assignments of a pool that were added to the batch. */
export function noteFilled(batch: Batch, pool: string, before: { assigns: number; bytes: number }): void {
  const filled = batch.filled.get(pool) ?? { assigns: 0, bytes: 0 };
  filled.assigns += batch.assigns.length - before.assigns;
  filled.bytes += batch.bytes - before.bytes;
  batch.filled.set(pool, filled);
}

function fillFrom(step: Step, pool: string, until: Bounds): void {
  const poolPermits = step.state.permits.of(pool);
  const picks: Picks = new Map();
  while (!isFull(step, until) && hasRoom(step, poolPermits)) {
    const turn = nextTurn(step, pool);
    if (turn === null) return;
    if (turn.isShared) assignOne(step, turn, picks);
    else assignFrom(step, turn, poolPermits, until);
  }
}

/** Whether the pool's limits allow another assignment. */
export function hasRoom({ state }: Step, poolPermits: PoolPermits | undefined): boolean {
  return poolPermits === undefined || poolPermits.room(state.term) > 0;
}

/** Rank of the most urgent execution that a free worker could run; null: there is none. */
export function urgency(step: Step, pool: string): number | null {
  const turn = nextTurn(step, pool);
  return turn === null ? null : rankOf(turn.contender);
}

/**
 * Approximate number of executions of a pool that could be assigned now if the pool had no limits. It is exact enough
 * to request permits.
 */
export function startable(step: Step, pool: string): number {
  const { state } = step;
  if (nextTurn(step, pool) === null) return 0;
  let count = 0;
  for (const work of state.lanes.classes(pool)) {
    let ready = 0;
    let credit = 0;
    for (const { item } of work.contenders.nodes()) ready += readyOf(item);
    for (const { free } of work.groups) for (const { item } of free.nodes()) credit += item.granted - item.sent;
    count += Math.min(ready, credit);
  }
  return Math.min(count, state.limits.batchAssigns);
}

/**
 * Whether the batch is full. The next batch begins when the store has answered this one, and then there is another
 * step.
 */
export function isFull({ batch, state }: Step, until: Bounds = state.limits): boolean {
  return batch.assigns.length >= until.batchAssigns || batch.bytes >= until.batchBytes;
}

/** Tenant and work class whose turn it is. */
interface Turn {
  work: WorkClass;
  contender: Contender;
  /** Rank of the first execution of the runner-up. */
  untilRank: number;
  /** Whether several tenants have work, so that each assignment changes whose turn it is. */
  isShared: boolean;
}

/** Finds the first tenant of the pool that has work in a class with a free worker, and the class; null: there is none. */
function nextTurn({ state }: Step, pool: string): Turn | null {
  const shares = state.shares.of(pool);
  if (shares === undefined) return null;
  reorder(shares);
  let first: Contender | null = null;
  let untilRank = Number.POSITIVE_INFINITY;
  for (const work of state.lanes.classes(pool)) {
    const contender = firstContender(state, work);
    if (contender === undefined || pickWorker(work) === null || isKeptFrom(contender, work, state)) continue;
    if (first === null || isBefore(contender, first)) {
      if (first !== null) untilRank = rankOf(first);
      first = contender;
    } else untilRank = Math.min(untilRank, rankOf(contender));
  }
  return first === null ? null : { work: first.work, contender: first, untilRank, isShared: shares.contending > 1 };
}

/** Assigns executions of a tenant that has no rival in the pool, in the order of their ranks. */
function assignFrom(step: Step, turn: Turn, poolPermits: PoolPermits | undefined, until: Bounds): void {
  const { work, contender, untilRank } = turn;
  const tenant = contender.share?.tenant ?? "";
  let worker: WorkerSlots | null = null;
  let inTurn = 0;
  while (!isFull(step, until) && hasRoom(step, poolPermits) && hasTenantRoom(step.state, tenant)) {
    const lane = contender.lanes.peek();
    const entry = lane?.item.ready.peek();
    if (lane === undefined || entry === undefined || lane.key > untilRank) return;
    if (isKeptFrom(contender, work, step.state)) return;
    if (endLate(step, entry.item)) continue;
    if (worker === null || inTurn === 0 || !hasFreeSlot(worker)) {
      worker = pickWorker(work);
      inTurn = lane.item.ready.size > creditsFor(work) ? IN_TURN : 1;
    }
    if (worker === null) return;
    inTurn--;
    assign(step, entry.item, worker);
  }
}

/** Workers that get further assignments of a class before the next worker does, and how many, over the turns of several tenants. */
type Picks = Map<WorkClass, { worker: WorkerSlots; inTurn: number }>;

function assignOne(step: Step, { work, contender }: Turn, picks: Picks): void {
  const lane = contender.lanes.peek()?.item;
  const entry = lane?.ready.peek()?.item;
  if (lane === undefined || entry === undefined || endLate(step, entry)) return;
  let pick = picks.get(work);
  if (pick === undefined || pick.inTurn === 0 || !hasFreeSlot(pick.worker)) {
    const worker = pickWorker(work);
    if (worker === null) return;
    pick = { worker, inTurn: lane.ready.size > creditsFor(work) ? IN_TURN : 1 };
    picks.set(work, pick);
  }
  pick.inTurn--;
  assign(step, entry, pick.worker);
}

/** Whether the owner may send the worker more work that starts at once. */
function hasFreeSlot({ node, granted, sent, ahead }: WorkerSlots): boolean {
  return node !== null && granted - sent > ahead;
}

function assign(step: Step, entry: Entry, worker: WorkerSlots): void {
  const { state, batch } = step;
  const { row } = entry;
  state.permits.assigned(row);
  clearTimer(state, entry);
  const lane = entry.lane as NonNullable<Entry["lane"]>;
  const { share } = lane.contender;
  invariant(share !== null, "a workflow run got a worker");
  entry.place = "ASSIGNED";
  if (row.queue === "READY") lane.assignedReady++;
  if (lane.gate !== null) lane.gate.running++;
  state.lanes.remove(entry);
  if (lane.gate !== null) state.lanes.refreshGate(lane.gate);
  row.attempt = nextAttempt(row.id, row.attempt, state.lostAttempts);
  worker.held.add(entry);
  entry.assigned = newAssigned(step, share, worker);
  writeJournal(step, entry);
  tellAssigned(step, row, entry.assigned);
  state.unstarted.add(entry);
  batch.bytes += row.payloadBytes;
  batch.assigns.push(assignmentOf(step, entry, entry.assigned));
}

function writeJournal(step: Step, entry: Entry): void {
  const { state, batch, now } = step;
  const { row, assigned } = entry;
  if (assigned === null) return;
  const draft = batch.shard(row.shard);
  if (draft.box === null) {
    const seq = (state.journalSeqs.get(row.shard) ?? 0) + 1;
    state.journalSeqs.set(row.shard, seq);
    draft.box = { shard: row.shard, epoch: state.epochs.get(row.shard) ?? 0, seq, unsettled: 0, sent: false };
  }
  draft.box.unsettled++;
  assigned.journal = draft.box;
  const { workerId, gateway } = assigned;
  draft.assigned.push({ id: entry.id, attempt: row.attempt, workerId, gateway, assignedAt: now });
  if (entry.unverified) {
    // The expected row is that of before this batch, because a hinted execution may have changed long ago.
    if (!draft.changes.has(entry.id)) {
      const isNode = row.node !== undefined && ({ isNode: true } as const);
      draft.expected.push({ id: entry.id, attempt: entry.rowAttempt, ...isNode });
    }
    batch.unverified.add(entry.id);
  }
}
