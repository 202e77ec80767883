import type { Candidate } from "../domain/execution.ts";
import type { EpochMs } from "../domain/ids.ts";
import type { Counted } from "./fair/shares.ts";
import type { FlowNode } from "./flow-heap.ts";
import type { HeapNode } from "./heap.ts";
import type { JournalBox } from "./journal-box.ts";
import type { Lane } from "./queue/lanes.ts";
import type { WorkerSlots } from "./workers/workers.ts";

/**
 * Place of an execution in its owner's memory.
 * NEW: just created. TIMER: waits for its due time. LANE: ready, waits for a worker, or as a workflow run to be opened.
 * OPENING: a workflow run that is read in order to be opened. ASSIGNED: a worker has the execution or will have it. GONE: removed from memory; remaining references to the entry must be dropped.
 */
export type Place = "NEW" | "TIMER" | "LANE" | "OPENING" | "ASSIGNED" | "GONE";

export interface Entry {
  readonly id: string;
  /**
   * Row whose fields `attempt`, `failures`, `lost`, `dueAt`, `rank` and `startedAt` are those of the machine, ahead of
   * the store.
   */
  readonly row: Candidate;
  place: Place;
  /** State and attempt of the row in the store once every batch up to now is committed. */
  rowState: "PENDING" | "RUNNING";
  rowAttempt: number;
  /** Whether the execution is known only from a hint, which may be stale. The commit must then check the row. */
  unverified: boolean;
  lane: Lane | null;
  laneNode: HeapNode<Entry> | null;
  /** Timer at the due time, while the execution waits for it; null: none. */
  dueTimer: FlowNode<Entry> | null;
  /** Timer at the expiry, deadline or end of a grace time, depending on `place`; null: none. */
  timer: HeapNode<Entry> | null;
  assigned: Assigned | null;
  /** Ids of open cancel commands, which are done when the execution is final. */
  cancels: string[];
  /** Ids of open commands about signals that the current attempt may not have seen, which are done when it ends. */
  signals: string[];
  /** Whether a newer instant of the same job waits for the end of this execution, which is therefore cancelled. */
  superseded: boolean;
}

/** Whether a command or a newer instant asks for the end of the execution. */
export function isCancelled({ cancels, superseded }: Entry): boolean {
  return cancels.length > 0 || superseded;
}

/** State of the current attempt. */
export interface Assigned extends Counted {
  workerId: string;
  gateway: string;
  worker: WorkerSlots | null;
  at: EpochMs;
  /** Account and number of the credit that the assignment used; 0: an earlier owner assigned it. */
  account: number;
  credit: number;
  /** Start of the attempt; null: not known to have started. */
  startedAt: EpochMs | null;
  /** Journal row that holds the assignment; null once the execution's own row says RUNNING. */
  journal: JournalBox | null;
  /**
   * Time since which the owner searches for the worker; null: the worker is connected where it was, and has or will
   * have the attempt.
   */
  soughtSince: EpochMs | null;
  /**
   * Reason for which the worker was told to stop; null: it was not told. If the timer rings first, the machine forces
   * the end.
   */
  stopping: "REQUESTED" | "TIMED_OUT" | null;
  /**
   * Whether the row was created with this attempt and has not been written since: it says RUNNING, and not when the attempt
   * has started.
   */
  isNewborn: boolean;
  /** Whether a batch has the event of the start. */
  isStartTold: boolean;
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
    dueTimer: null,
    timer: null,
    assigned: null,
    cancels: [],
    signals: [],
    superseded: false,
  };
}
