import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";

/** Time in ms in which a request that was committed is decided once faults have ended. */
const LATE_MS = 30_000;

/**
 * Each request of a committed transaction is taken in exactly once, or refused: its job is written with its end, and that of no
 * transaction that was rolled back is.
 */
export function requestsAreTakenInOnce(): Checker {
  /** Open requests, with the times of their commits. */
  const open = new Map<string, number>();
  /** Jobs that were written for requests. */
  const written = new Set<string>();
  let nowMs = 0;
  return {
    name: "requests are taken in once",
    saw(event) {
      if (event.kind === "REQUEST_ADDED") open.set(event.id, event.at - EPOCH_MS);
      if (event.kind !== "REQUESTS_ENDED") return;
      for (const { id, end, submitted } of event.taken) {
        if (!open.delete(id)) throw new Violation(`the request ${id} has ended, and no transaction left it open`);
        const outcome = submitted?.outcome;
        const isTaken =
          outcome?.kind === "ACCEPTED" && outcome.jobs.every(({ nameHeldBy }) => nameHeldBy === undefined);
        if ((end.state === "TAKEN_IN") !== isTaken)
          throw new Violation(`the request ${id} is ${end.state}, and its job is not`);
        if (end.state !== "TAKEN_IN" || outcome?.kind !== "ACCEPTED") continue;
        const [job] = outcome.jobs;
        if (job?.jobId !== end.jobId)
          throw new Violation(`the request ${id} names the job ${end.jobId}, not ${job?.jobId}`);
        if (outcome.replayed || end.deduplicated) continue;
        if (written.has(end.jobId)) throw new Violation(`the job ${end.jobId} was written for two requests`);
        written.add(end.jobId);
      }
    },
    noticed(event) {
      nowMs = event.atMs;
    },
    atEnd() {
      for (const [id, atMs] of open)
        if (atMs < nowMs - LATE_MS) throw new Violation(`nobody has decided the request ${id}`);
    },
  };
}
