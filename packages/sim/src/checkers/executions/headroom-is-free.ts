import { EPOCH_MS } from "../../sim-process.ts";
import { QUIET } from "../../world/tenants.ts";
import { type Checker, Violation } from "../checker.ts";
import type { WorkerTracker } from "../cluster/worker-tracker.ts";
import type { Quiet } from "../quiet.ts";
import { addedRows, turnsIn } from "../recurring/ledger.ts";

/** Executions of the quiet tenant that must have started without faults before their waits are judged. */
const JUDGED_MIN = 15;
/** Slots of the pool from which on each of its owners can keep some free. */
const SLOTS_MIN = 20;
/** Longest wait of the middle one of them, in milliseconds. Runs of the other tenants end after many seconds. */
const WAIT_MAX_MS = 2_000;

/**
 * A tenant with few attempts finds a free slot in a pool with headroom, although other tenants have more long runs to do than there are
 * slots. The middle wait is judged, because a worker that has just got a slot back may be with an owner that has no work for it.
 */
export function headroomIsFree(hasHeadroom: boolean, tracker: WorkerTracker, quiet: Quiet): Checker {
  /** Due times of executions of the quiet tenant that have not started, in simulated milliseconds. */
  const due = new Map<string, number>();
  const waitsMs: number[] = [];
  return {
    name: "headroom is free",
    saw(event) {
      if (!hasHeadroom) return;
      if (event.kind === "WENT_BACK") due.clear();
      for (const { id, dueAt, job } of addedRows(event)) if (job.tenant === QUIET) due.set(id, dueAt - EPOCH_MS);
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const atMs = event.at - EPOCH_MS;
      for (const { id } of turnsIn(event, event.outcome).begun) {
        const dueMs = due.get(id) ?? Number.NEGATIVE_INFINITY;
        if (dueMs >= quiet.sinceMs) waitsMs.push(atMs - dueMs);
        due.delete(id);
      }
    },
    atEnd() {
      const slots = [...tracker.workers.values()].reduce((sum, { slots: own }) => sum + own, 0);
      if (waitsMs.length < JUDGED_MIN || slots < SLOTS_MIN) return;
      const middle = waitsMs.sort((a, b) => a - b)[Math.floor(waitsMs.length / 2)] ?? 0;
      if (middle <= WAIT_MAX_MS) return;
      throw new Violation(
        `half of the executions of ${QUIET} waited for more than ${Math.round(middle)} ms, beside headroom`,
      );
    },
  };
}
