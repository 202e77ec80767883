import { type Checker, Violation } from "../checker.ts";
import type { WorkerTracker } from "./worker-tracker.ts";

/**
 * A worker never runs more attempts than its slots, nor holds more than slots and prefetch, by the workers' own
 * observations: what they received, and what they had not finished.
 */
export function workersAreNotOverfilled(tracker: WorkerTracker): Checker {
  return {
    name: "workers are not overfilled",
    noticed(event) {
      if (event.kind !== "HANDLER_STARTED" && event.kind !== "DELIVERED") return;
      const attendance = tracker.get(event.worker);
      if (attendance === undefined) return;
      const { worker, slots, prefetch, holds, running } = attendance;
      if (running.size > slots) throw new Violation(`${worker} runs ${running.size} with ${slots} slots`);
      if (holds.size > slots + prefetch) {
        throw new Violation(`${worker} holds ${holds.size} with ${slots} slots and ${prefetch} more`);
      }
    },
  };
}
