import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { nameOf } from "../cluster/worker-tracker.ts";

/**
 * Time after its end in which an attempt may still begin, in milliseconds, because its owner's order to stop was on its
 * way, or the worker's host was cut off.
 */
const TOLD_WITHIN_MS = 15_000;
/** Faults in which an owner, a gateway and a worker may not hear of each other although each of them is well. */
const SEPARATING = ["NETWORK_CUT", "SERVER_PAUSED", "LEASES_DOWN", "LEASES_WRONG", "STORE_DOWN", "LOOP_BLOCKED"];
const AFTER_MS = 60_000;

/**
 * An attempt whose end is in the store does not begin long after: a worker that stood still, or had no server for a
 * while, hands back what waits there.
 */
export function givenUpDoesNotBegin(): Checker {
  const endedMs = new Map<string, number>();
  let separatedUntilMs = 0;
  return {
    name: "what is given up does not begin",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        for (const { attempt } of after.attempts.slice(before.attempts.length)) {
          endedMs.set(nameOf({ executionId: after.id, attempt }), event.at - EPOCH_MS);
        }
      }
    },
    noticed(event) {
      if (event.kind === "FAULT" && SEPARATING.includes(event.fault)) {
        separatedUntilMs = Math.max(separatedUntilMs, event.atMs + (event.forMs ?? 0) + AFTER_MS);
      } else if (event.kind === "STORE_FAULT" || event.kind === "NETWORK_FAULT") {
        separatedUntilMs = Math.max(separatedUntilMs, event.atMs + TOLD_WITHIN_MS);
      }
      if (event.kind !== "HANDLER_STARTED" || event.atMs < separatedUntilMs) return;
      const agoMs = event.atMs - (endedMs.get(nameOf(event)) ?? Number.POSITIVE_INFINITY);
      if (agoMs < TOLD_WITHIN_MS) return;
      const { attempt, executionId, worker } = event;
      throw new Violation(
        `attempt ${attempt} of ${executionId} began on ${worker} ${Math.round(agoMs)} ms after its end`,
      );
    },
  };
}
