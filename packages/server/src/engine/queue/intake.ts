import type { RankCursor } from "../../domain/execution.ts";
import { type Candidate, isNodeBesideRun, isRun } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { LIFETIME_EXCEEDED, lifetimeEnd, lifetimeError } from "../../domain/lifetime.ts";
import { type Entry, newEntry } from "../entry.ts";
import type { FlowNode } from "../flow-heap.ts";
import type { ReadMark, ReadResult } from "../inputs.ts";
import { finishEntry, forget, writeRow } from "../rows.ts";
import { hold, isHeldNode, writeWaiting } from "../runs/hold.ts";
import { type Step, setDueTimer, setTimer } from "../state.ts";
import { laneRoom } from "./lane-room.ts";
import type { Lane } from "./lanes.ts";

/** Brings executions into memory: from hints, from reads, and back from attempts that ended. */

/** Room of a lane with workers for executions that fell due in memory, as a multiple of the room that it has otherwise. */
const DUE_LANES = 4;

export function applyHints(step: Step, rows: readonly Candidate[]): void {
  for (const row of rows) {
    if (!step.state.epochs.has(row.shard) || step.state.entries.has(row.id)) continue;
    // The hint is older than a recent write of the row, which the hinted entry would overwrite.
    if (step.state.recentWrites.hides(row.id, 0)) continue;
    if (row.dueAt > step.now + step.state.limits.horizonMs) continue;
    if (row.queue === "READY" && !admit(step, row)) continue;
    enter(step, newEntry(row, true));
  }
}

/** Brings in an execution that a commit has created for a planned instant. */
export function bringBorn(step: Step, row: Candidate): void {
  if (!step.state.epochs.has(row.shard) || step.state.entries.has(row.id)) return;
  if (isHeldNode(step, row) || admit(step, row)) enter(step, newEntry(row, false));
}

export function applyReadyRows(step: Step, read: Extract<ReadResult, { kind: "READ_READY" }>): void {
  const last = read.rows.at(-1);
  applyReadRows(step, read.rows, read);
  step.state.reading.delete(read.laneHash);
  for (const lane of [...step.state.lanes.withHash(read.laneHash)]) {
    settleTail(step, lane, read, last ? { rank: last.rank, id: last.id } : null);
    step.state.lanes.prune(lane);
  }
}

/** Records after a read how much of the lane is in memory. */
function settleTail(
  step: Step,
  lane: Lane,
  read: Extract<ReadResult, { kind: "READ_READY" }>,
  last: RankCursor | null,
): void {
  // Rows that were turned away or written back since the read began may lie behind its end.
  const sawAll =
    !read.full && !lane.missedWhileReading && lane.overflowBatch < read.since && read.term === step.state.term;
  lane.missedWhileReading = false;
  if (sawAll) {
    step.state.lanes.know(lane, "ALL");
  } else if (read.term !== step.state.term) {
    // The read began before the last takeover, so it did not cover all shards.
    step.state.lanes.know(lane, { tail: null });
  } else if (last !== null && (!lane.moreInStore || compare(last, lane.tail) > 0)) {
    step.state.lanes.know(lane, { tail: last });
  }
}

function compare(a: RankCursor | null, b: RankCursor | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (a.rank !== b.rank) return a.rank - b.rank;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

/** Brings in rows from a read. Rows that memory knows in a newer state are ignored. */
export function applyReadRows(step: Step, rows: readonly Candidate[], mark: ReadMark): void {
  for (const row of rows) {
    if (isStale(step, row, mark)) continue;
    const known = step.state.entries.get(row.id);
    if (known === undefined) enter(step, newEntry(row, false));
    else if (known.unverified && row.attempt === known.rowAttempt) known.unverified = false;
  }
}

/**
 * Whether a row may be outdated: the read began before this node owned the shard, or before the store had received all
 * of this machine's writes of the row.
 */
export function isStale({ state }: Step, row: Candidate, mark: ReadMark): boolean {
  const takenIn = state.terms.get(row.shard);
  return takenIn === undefined || mark.term < takenIn || state.recentWrites.hides(row.id, mark.since);
}

/** Puts an entry into its place, which depends on its due time and on the room in its lane. */
export function enter(step: Step, entry: Entry): void {
  const { state, now } = step;
  const { row } = entry;
  state.entries.set(entry.id, entry);
  if (isNodeBesideRun(row)) {
    state.runs.expect(row.jobId);
    if (hold(step, entry)) return;
  }
  if (endLate(step, entry)) return;
  if (row.dueAt > now + leadMs(step, row)) {
    if (row.queue === "PARKED") writeWaiting(step, entry, "WAITING");
    return waitForTime(step, entry);
  }
  const lane = laneOf(step, row);
  if (row.queue !== "READY" && !laneTakes(step, lane, row)) {
    if (step.batch.overflows >= state.limits.batchOverflows) return waitForBatch(step, entry);
    return overflow(step, entry, lane);
  }
  if (row.queue === "PARKED") writeWaiting(step, entry, "READY");
  state.lanes.add(entry, lane);
  const endsAt = waitsUntil(row);
  if (endsAt !== null) setTimer(state, entry, endsAt);
}

function waitForTime(step: Step, entry: Entry): void {
  if (entry.row.dueAt > step.now + step.state.limits.horizonMs) {
    // The store keeps the execution until its due time is near.
    if (step.batch.shards.get(entry.row.shard)?.changes.has(entry.id)) {
      step.state.recentWrites.add(entry.id, step.batch.number);
    }
    return forget(step, entry);
  }
  waitInFlow(step, entry);
}

/** Keeps an execution that must return to the store until a batch has room for it, and the rest of its flow behind it. */
function waitForBatch(step: Step, entry: Entry): void {
  step.state.waiting.hold(waitInFlow(step, entry));
}

function waitInFlow(step: Step, entry: Entry): FlowNode<Entry> {
  entry.place = "TIMER";
  return setDueTimer(step.state, entry, entry.row.dueAt - leadMs(step, entry.row));
}

/**
 * Returns an execution that is due to the store because its lane is full. The store marks the row READY, and a later
 * read returns it by rank.
 */
function overflow(step: Step, entry: Entry, lane: Lane): void {
  lane.overflowBatch = step.batch.number;
  step.batch.overflows++;
  writeRow(step, entry, { state: "PENDING", queue: "READY" });
  step.state.recentWrites.add(entry.id, step.batch.number);
  forget(step, entry);
}

/** Whether a row that is READY in the store is kept in memory as well. */
function admit(step: Step, row: Candidate): boolean {
  const lane = laneOf(step, row);
  if (laneTakes(step, lane, row)) return true;
  if (step.state.reading.has(lane.hash)) lane.missedWhileReading = true;
  return false;
}

/**
 * Whether this execution would have to go back to the store because its lane is full, although the store has no other
 * rows of the lane.
 */
export function isCrowded(step: Step, row: Candidate): boolean {
  const lane = laneOf(step, row);
  return row.queue !== "READY" && !lane.moreInStore && lane.ready.size >= roomFor(step, lane, row);
}

/** Whether the lane has room for the execution, or the execution is more urgent than others in the lane. */
function laneTakes(step: Step, lane: Lane, row: Candidate): boolean {
  const room = laneRoom(step, lane);
  if (!lane.moreInStore && lane.ready.size < roomFor(step, lane, row)) return true;
  noteMore(step, lane);
  if (compare({ rank: row.rank, id: row.id }, lane.tail) > 0) return false;
  // Urgent work still gets in front of a full lane, up to twice its size; the next sweep finds what is left out.
  if (lane.ready.size < 2 * room) return true;
  lane.sweptAt = Number.NEGATIVE_INFINITY;
  return false;
}

/** Records that the store has further rows of the lane, behind the executions in memory. */
function noteMore(step: Step, lane: Lane): void {
  if (lane.moreInStore) return;
  let tail: RankCursor | null = null;
  for (const node of lane.ready.nodes()) {
    const cursor = { rank: node.key, id: node.tie };
    if (compare(cursor, tail) > 0) tail = cursor;
  }
  step.state.lanes.know(lane, { tail });
}

/**
 * Number of executions that a lane may have with this one. An execution that fell due in memory costs a write and a read
 * if it goes back to the store, so a lane that workers serve keeps more of them while memory has room.
 */
function roomFor(step: Step, lane: Lane, row: Candidate): number {
  const room = laneRoom(step, lane);
  const hasRoom = step.state.entries.size < step.state.limits.entries;
  const isKept = row.queue === "WAITING" && lane.work.groups.length > 0 && hasRoom;
  return isKept ? DUE_LANES * room : room;
}

export function laneOf(step: Step, row: Candidate): Lane {
  return step.state.lanes.of(row, step.state.workers.groupsFor);
}

/**
 * Time in ms before its due time at which an execution leaves its timer. No attempt follows the end of a lifetime, and a
 * workflow run opens when it is due.
 */
function leadMs({ state }: Step, row: Candidate): number {
  if (isRun(row)) return 0;
  return row.dueAt < lifetimeEnd(row) ? state.limits.leadMs : 0;
}

/**
 * Time at which a ready execution ends if no worker takes it by then; null: none that a timer watches. An ordinary
 * execution has no timer for the default lifetime, whose end is checked where an execution is read, assigned or tried
 * again.
 */
function waitsUntil(row: Candidate): EpochMs | null {
  const { startBefore, maxLifetimeMs } = row.policy;
  const startsBy = row.startedAt === null ? startBefore : null;
  if (maxLifetimeMs === undefined && row.steps === undefined) return startsBy;
  return Math.min(startsBy ?? Number.POSITIVE_INFINITY, lifetimeEnd(row));
}

/**
 * Ends an execution that no worker has and whose time is over: it has not started before its `startBefore`, or its
 * lifetime has ended.
 * @returns false: its time is not over
 */
export function endLate(step: Step, entry: Entry): boolean {
  const { row } = entry;
  const { startBefore } = row.policy;
  if (startBefore !== null && startBefore <= step.now && row.startedAt === null) {
    finishEntry(step, entry, "SKIPPED", { reason: "START_BEFORE_PASSED" });
    return true;
  }
  if (lifetimeEnd(row) > step.now) return false;
  finishEntry(step, entry, "DEAD", { reason: LIFETIME_EXCEEDED, error: lifetimeError(row) });
  return true;
}
