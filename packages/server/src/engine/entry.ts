import type { Candidate } from "../domain/execution.ts";
import type { EpochMs } from "../domain/ids.ts";
import type { HeapNode } from "./heap.ts";
import type { JournalBox } from "./journal-box.ts";
import type { Lane } from "./queue/lanes.ts";
import type { WorkerSlots } from "./workers/workers.ts";

/**
 * An execution in its owner's memory.
 *
 * NEW: just made. TIMER: waits for its due time. LANE: ready, waits for a worker. ASSIGNED: some worker has it or will
 * have it. GONE: left memory; whoever still refers to it must forget it.
 */
export type Place = "NEW" | "TIMER" | "LANE" | "ASSIGNED" | "GONE";

export interface Entry {
  readonly id: string;
  /** Its fields follow the machine: `attempt`, `failures`, `lost`, `dueAt`, `rank`, `startedAt`. */
  readonly row: Candidate;
  place: Place;
  /** Content of the row in the store once every batch up to now is committed. */
  rowState: "PENDING" | "RUNNING";
  rowAttempt: number;
  /** Known only from a hint, which may be stale: the commit must check the row. */
  unverified: boolean;
  lane: Lane | null;
  laneNode: HeapNode<Entry> | null;
  /** Due time, expiry, deadline or end of a grace time, by place. */
  timer: HeapNode<Entry> | null;
  assigned: Assigned | null;
  /** Open cancel commands; done when the execution is final. */
  cancels: string[];
  /** A newer instant of its job waits for its end, and it is to be cancelled. */
  superseded: boolean;
}

/** Its end was asked for. */
export function isCancelled({ cancels, superseded }: Entry): boolean {
  return cancels.length > 0 || superseded;
}

/** State of the current attempt. */
export interface Assigned {
  workerId: string;
  gateway: string;
  worker: WorkerSlots | null;
  at: EpochMs;
  /** The account and number of its credit; 0: an earlier owner's. */
  account: number;
  credit: number;
  /** null: not known to have started. */
  startedAt: EpochMs | null;
  /** The journal row that holds the assignment; null once the row itself says so. */
  journal: JournalBox | null;
  /** Time from which on its worker is sought; null: the worker is where it was, and has the attempt or will have it. */
  soughtSince: EpochMs | null;
  /** The worker was told to stop; when the timer rings, the end is forced. */
  stopping: "REQUESTED" | "TIMED_OUT" | null;
}

export function newEntry(row: Candidate, unverified: boolean): Entry {
  return {
    id: row.id,
    row,
    place: "NEW",
    rowState: row.state,
    rowAttempt: row.attempt,
    unverified,
    lane: null,
    laneNode: null,
    timer: null,
    assigned: null,
    cancels: [],
    superseded: false,
  };
}
