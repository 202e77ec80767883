import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { nameOf, type WorkerTracker } from "../cluster/worker-tracker.ts";

/** Time for a result to reach its owner over a working connection, in milliseconds. */
const TRAVEL_MS = 6_000;

/**
 * A worker keeps its results until they are acknowledged: an attempt that succeeded in time does not time out while its
 * worker is well.
 */
export function resultsArrive(tracker: WorkerTracker): Checker {
  const succeededMs = new Map<string, number>();
  let troubleMs = Number.NEGATIVE_INFINITY;
  return {
    name: "results arrive",
    noticed(event) {
      // A result may be lost on its way from the gateway to the owner, which then asks for it repeatedly.
      if (event.kind === "NETWORK_FAULT") troubleMs = Math.max(troubleMs, event.atMs);
      // A paused gateway forwards nothing.
      if (event.kind === "FAULT" && event.fault === "SERVER_PAUSED")
        troubleMs = Math.max(troubleMs, event.atMs + (event.forMs ?? 0));
      if (event.kind !== "HANDLER_ENDED" || event.as !== "SUCCEEDED") return;
      // The worker itself may have given the attempt up before.
      if (tracker.get(event.worker)?.done.has(nameOf(event)) === false) succeededMs.set(nameOf(event), event.atMs);
    },
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        for (const { attempt, state, workerId, finishedAt } of after.attempts.slice(before.attempts.length)) {
          const endedMs = succeededMs.get(nameOf({ executionId: after.id, attempt }));
          const attendance = tracker.get(workerId);
          if (state !== "TIMED_OUT" || endedMs === undefined || attendance?.server == null) continue;
          const heardMs = finishedAt - EPOCH_MS - Math.max(endedMs, attendance.wellSinceMs);
          if (heardMs < TRAVEL_MS || troubleMs > endedMs) continue;
          throw new Violation(`attempt ${attempt} of ${after.id} succeeded on ${workerId}, and is written as ${state}`);
        }
      }
    },
  };
}
