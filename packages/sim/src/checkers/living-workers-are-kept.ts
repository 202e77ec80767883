import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Roll } from "./roll.ts";

/** A worker that has been well for so long cannot be taken for dead: longer than any message is on its way. */
const WELL_MS = 6_000;

/**
 * DESIGN 8: no worker is declared lost that was connected, not paused, and answering: neither by its gateway nor by an
 * owner in the store's word. That the judge itself was held up is no excuse.
 */
export function livingWorkersAreKept(roll: Roll): Checker {
  const judge = (worker: string, atMs: number, what: string) => {
    const attendance = roll.get(worker);
    if (attendance === undefined || attendance.server === null) return;
    const wellForMs = atMs - attendance.wellSinceMs;
    if (wellForMs < WELL_MS) return;
    throw new Violation(`${worker} ${what}; it had been well for ${Math.round(wellForMs / 1_000)} s`);
  };
  /** Until when messages between servers may not have come through for long. */
  let cutUntilMs = 0;
  return {
    name: "living workers are kept",
    noticed(moment) {
      if (moment.kind === "FAULT" && moment.fault === "NETWORK_CUT") {
        cutUntilMs = Math.max(cutUntilMs, moment.atMs + (moment.forMs ?? 0) + WELL_MS);
      }
      if (moment.kind !== "DECLARED_LOST") return;
      // Another gateway may not know where it is now; what it says is of a connection that is over.
      if (roll.get(moment.worker)?.server !== moment.server) return;
      judge(moment.worker, moment.atMs, `was declared lost by ${moment.server}: ${moment.reason}`);
    },
    saw(event) {
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { after } of event.applied) {
        const last = after.attempts.at(-1);
        if (last?.state !== "WORKER_LOST" || after.commitNumber === 0) continue;
        // An owner that hears nothing of a gateway for long gives its workers up.
        if (last.finishedAt - EPOCH_MS < cutUntilMs) continue;
        // When the owner decided it, which may be long before the store heard of it.
        judge(last.workerId, last.finishedAt - EPOCH_MS, `lost attempt ${last.attempt} of ${after.id}`);
      }
    },
  };
}
