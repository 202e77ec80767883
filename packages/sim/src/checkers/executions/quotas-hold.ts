import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn } from "../recurring/ledger.ts";

/**
 * No submit brings the executions of a tenant that have not begun over its quota. Executions that wait again, after an attempt, do not
 * count, because nobody can refuse them.
 * @param limits executions that may wait, by tenant
 */
export function quotasHold(limits: ReadonlyMap<string, number> = new Map()): Checker {
  /** Executions that have not begun, by tenant. */
  const waiting = new Map([...limits.keys()].map((tenant) => [tenant, new Set<string>()]));
  return {
    name: "quotas hold",
    saw(event) {
      for (const { id, job } of addedRows(event)) {
        const ids = waiting.get(job.tenant);
        const limit = limits.get(job.tenant);
        if (ids === undefined || limit === undefined) continue;
        ids.add(id);
        if (ids.size > limit) throw new Violation(`${ids.size} executions of ${job.tenant} wait, and ${limit} may`);
      }
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const missed = new Set(event.outcome.missed);
      // The row of an attempt says that it runs a second later, and after a takeover in another event.
      const begun = assignedIn(event).filter(({ id }) => !missed.has(id));
      const left = event.applied.filter(({ after }) => after.queue !== "WAITING" && after.queue !== "READY");
      for (const { id } of [...begun, ...left.map(({ after }) => after)])
        for (const ids of waiting.values()) ids.delete(id);
    },
  };
}
