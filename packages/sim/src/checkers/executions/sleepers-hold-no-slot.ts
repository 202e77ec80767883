import { type Checker, Violation } from "../checker.ts";
import { nameOf } from "../cluster/worker-tracker.ts";

/** Largest error of the clocks by which servers measure a sleep, in milliseconds. */
const CLOCKS_MS = 1_000;

/** A handler that sleeps has left its slot when the store says so, and sleeps for as long as it asked for. */
export function sleepersHoldNoSlot(): Checker {
  const running = new Set<string>();
  /** Earliest end of each wait, by execution and step. */
  const endsMs = new Map<string, number>();
  return {
    name: "sleepers hold no slot",
    noticed(event) {
      if (event.kind === "HANDLER_STARTED") running.add(nameOf(event));
      else if (event.kind === "HANDLER_ENDED") running.delete(nameOf(event));
      else if (event.kind === "WAIT_BEGUN") {
        const key = `${event.executionId}/${event.name}`;
        // A new definition of the job may wait for something else, and for another time; the first record counts.
        endsMs.set(key, Math.min(endsMs.get(key) ?? Number.POSITIVE_INFINITY, event.atMs + event.forMs));
      } else if (event.kind === "WAIT_OVER") {
        const { executionId, name, isSleep, atMs } = event;
        const key = `${executionId}/${name}`;
        const earlyMs = (endsMs.get(key) ?? atMs) - atMs;
        if (isSleep && earlyMs > CLOCKS_MS)
          throw new Violation(`${name} of ${executionId} ended ${Math.round(earlyMs)} ms early`);
        // The end is recorded, so a later attempt does not wait again, whatever its definition waits for.
        endsMs.set(key, Math.min(endsMs.get(key) ?? atMs, atMs));
      }
    },
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        for (const { attempt, state, workerId } of after.attempts.slice(before.attempts.length)) {
          if (state !== "SUSPENDED" || !running.has(nameOf({ executionId: after.id, attempt }))) continue;
          throw new Violation(`attempt ${attempt} of ${after.id} is suspended, and its handler runs on ${workerId}`);
        }
      }
    },
  };
}
