import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { nameOf, type TrackedWorker, type WorkerTracker } from "./worker-tracker.ts";

/**
 * Longest wait at a worker with automatic prefetch, in milliseconds: the gateway asks for an attempt back after one
 * second, and a worker whose event loop a handler blocks answers when the handler lets it.
 */
const BOUND_MS = 10_000;

/**
 * No attempt waits long at a worker with automatic prefetch: the gateway takes it back when the handlers there are
 * slow. The checker judges while no fault is active.
 */
export function prefetchIsShort(tracker: WorkerTracker, quiet: Quiet): Checker {
  const deliveredMs = new Map<string, number>();
  const judge = (worker: TrackedWorker, nowMs: number) => {
    const sinceMs = Math.max(quiet.sinceMs, worker.wellSinceMs);
    for (const name of worker.holds) {
      if (worker.running.has(name)) continue;
      const waitedMs = nowMs - Math.max(sinceMs, deliveredMs.get(name) ?? nowMs);
      if (waitedMs > BOUND_MS)
        throw new Violation(`${name} has waited for ${Math.round(waitedMs)} ms at ${worker.worker}`);
    }
  };
  return {
    name: "prefetch is short",
    noticed(event) {
      if (event.kind === "DELIVERED") deliveredMs.set(nameOf(event), event.atMs);
      else if (event.kind === "HANDLER_STARTED" || event.kind === "REPORTED") deliveredMs.delete(nameOf(event));
    },
    looked(nowMs) {
      for (const worker of tracker.workers.values()) {
        if (worker.isAuto && worker.server !== null) judge(worker, nowMs);
      }
    },
  };
}
