import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";
import { nameOf, type Roll } from "./roll.ts";

/** For a result to reach its owner, over a connection that holds. */
const TRAVEL_MS = 6_000;

/** A worker keeps its results until they are heard: what succeeded in time does not time out while its worker is well. */
export function resultsArrive(roll: Roll): Checker {
  const succeededMs = new Map<string, number>();
  let troubleMs = Number.NEGATIVE_INFINITY;
  return {
    name: "results arrive",
    noticed(moment) {
      // On its way from the gateway to the owner it may be lost, and is then asked for again and again.
      if (moment.kind === "NETWORK_FAULT") troubleMs = Math.max(troubleMs, moment.atMs);
      // And a gateway that stands still hands nothing on.
      if (moment.kind === "FAULT" && moment.fault === "SERVER_PAUSED")
        troubleMs = Math.max(troubleMs, moment.atMs + (moment.forMs ?? 0));
      if (moment.kind !== "HANDLER_ENDED" || moment.as !== "SUCCEEDED") return;
      // The worker itself may have given up on it before.
      if (roll.get(moment.worker)?.done.has(nameOf(moment)) === false) succeededMs.set(nameOf(moment), moment.atMs);
    },
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        for (const { attempt, state, workerId, finishedAt } of after.attempts.slice(before.attempts.length)) {
          const endedMs = succeededMs.get(nameOf({ executionId: after.id, attempt }));
          const attendance = roll.get(workerId);
          if (state !== "TIMED_OUT" || endedMs === undefined || attendance?.server == null) continue;
          const heardMs = finishedAt - EPOCH_MS - Math.max(endedMs, attendance.wellSinceMs);
          if (heardMs < TRAVEL_MS || troubleMs > endedMs) continue;
          throw new Violation(`attempt ${attempt} of ${after.id} succeeded on ${workerId}, and is written as ${state}`);
        }
      }
    },
  };
}
