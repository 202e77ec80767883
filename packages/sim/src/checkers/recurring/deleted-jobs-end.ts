import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn } from "./ledger.ts";

/** Once a deletion was acknowledged, no execution of the job starts that had never been assigned, and none is added. */
export function deletedJobsEnd(): Checker {
  const jobOf = new Map<string, string>();
  const firstAssigned = new Map<string, number>();
  const appeared = new Map<string, number>();
  return {
    name: "deleted jobs end",
    saw(event) {
      for (const { id, job } of addedRows(event)) {
        jobOf.set(id, job.jobId);
        if (event.kind !== "SUBMITTED") appeared.set(id, event.at);
      }
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const missed = new Set(event.outcome.missed);
      for (const { id } of assignedIn(event)) {
        if (!missed.has(id) && !firstAssigned.has(id)) firstAssigned.set(id, event.at);
      }
    },
    atEnd(history) {
      const deletedAt = new Map<string, number>();
      for (const { jobId, isOver, atMs } of history.of("DELETE_ANSWERED")) {
        if (isOver && !deletedAt.has(jobId)) deletedAt.set(jobId, EPOCH_MS + atMs);
      }
      for (const [id, jobId] of jobOf) {
        const at = deletedAt.get(jobId) ?? Number.POSITIVE_INFINITY;
        if ((firstAssigned.get(id) ?? 0) > at) throw new Violation(`${id} was assigned after its job was deleted`);
        if ((appeared.get(id) ?? 0) > at) throw new Violation(`${id} was added to a deleted job`);
      }
    },
  };
}
