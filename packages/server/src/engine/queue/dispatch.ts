import type { Entry } from "../entry.ts";
import type { Holding } from "../permits/holding.ts";
import { clearTimer, poolOf, type Step } from "../state.ts";
import { pickWorker, type WorkerSlots } from "../workers/workers.ts";
import { assignmentOf } from "./assignment.ts";
import type { WorkClass } from "./lanes.ts";

/** Gives ready executions to free workers, the smallest rank of a pool first, until the batch is full. */
export function dispatch(step: Step): void {
  for (const pool of step.state.lanes.served()) {
    if (!poolOf(step.state, pool).paused) dispatchPool(step, pool);
  }
}

function dispatchPool(step: Step, pool: string): void {
  const holding = step.state.permits.of(pool);
  while (!isFull(step) && hasRoom(step, holding)) {
    const turn = nextTurn(step, pool);
    if (turn === null) return;
    assignFrom(step, turn, holding);
  }
}

/** Whether the pool's limits allow another one. */
function hasRoom({ state }: Step, holding: Holding | undefined): boolean {
  return holding === undefined || holding.room(state.term) > 0;
}

/** The rank of the most urgent execution that a free worker could run; null: there is none. */
export function urgency(step: Step, pool: string): number | null {
  return nextTurn(step, pool)?.rank ?? null;
}

/** About how many of a pool could be given to workers now, were it not for its limits: enough to ask for permits by. */
export function startable({ state }: Step, pool: string): number {
  let count = 0;
  for (const work of state.lanes.classes(pool)) {
    let ready = 0;
    let credit = 0;
    for (const { item } of work.lanes.nodes()) ready += item.ready.size;
    for (const { free } of work.groups) for (const { item } of free.nodes()) credit += item.granted - item.sent;
    count += Math.min(ready, credit);
  }
  return Math.min(count, state.limits.batchAssigns);
}

/** The next batch begins when this one is answered; then there is another step. */
export function isFull({ batch, state }: Step): boolean {
  return batch.assigns.length >= state.limits.batchAssigns || batch.bytes >= state.limits.batchBytes;
}

/** The lane whose turn it is, its rank, and the rank of the runner-up. */
interface Turn {
  work: WorkClass;
  rank: number;
  untilRank: number;
}

/** The class whose first execution has the smallest rank of all that somebody can run. */
function nextTurn(step: Step, pool: string): Turn | null {
  let work: WorkClass | null = null;
  let rank = Number.POSITIVE_INFINITY;
  let untilRank = Number.POSITIVE_INFINITY;
  for (const candidate of step.state.lanes.classes(pool)) {
    const head = candidate.lanes.peek();
    if (head === undefined || pickWorker(candidate) === null) continue;
    if (work === null || head.key < rank) {
      untilRank = rank;
      rank = head.key;
      work = candidate;
    } else if (head.key < untilRank) untilRank = head.key;
  }
  return work === null ? null : { work, rank, untilRank };
}

function assignFrom(step: Step, { work, untilRank }: Turn, holding: Holding | undefined): void {
  while (!isFull(step) && hasRoom(step, holding)) {
    const lane = work.lanes.peek();
    const worker = pickWorker(work);
    const entry = lane?.item.ready.peek();
    if (lane === undefined || entry === undefined || worker === null || lane.key > untilRank) return;
    holding?.assigned(entry.item.row.shard);
    assign(step, entry.item, worker);
  }
}

function assign(step: Step, entry: Entry, worker: WorkerSlots): void {
  const { state, batch, now } = step;
  const { row } = entry;
  clearTimer(state, entry);
  const lane = entry.lane as NonNullable<Entry["lane"]>;
  entry.place = "ASSIGNED";
  if (row.queue === "READY") lane.assignedReady++;
  if (lane.gate !== null) lane.gate.running++;
  state.lanes.remove(entry);
  if (lane.gate !== null) state.lanes.refreshGate(lane.gate);
  row.attempt++;
  worker.holding.add(entry);
  entry.assigned = {
    workerId: worker.profile.workerId,
    gateway: worker.gateway,
    worker,
    at: now,
    account: worker.account,
    credit: state.workers.take(worker, poolOf(state, row.pool).placement),
    startedAt: null,
    journal: null,
    soughtSince: null,
    stopping: null,
  };
  writeJournal(step, entry);
  state.young.add(entry, row.attempt, now);
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
    // State of the row before this batch: a hint may be about an execution that has moved on long ago.
    if (!draft.changes.has(entry.id)) draft.expected.push({ id: entry.id, attempt: entry.rowAttempt });
    batch.unverified.add(entry.id);
  }
}
