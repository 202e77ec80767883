import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn } from "../recurring/ledger.ts";

/** Seconds of a rate that may be saved up. */
const BURST_SEC = 10;
/** Time in s within which the rows of a charge are written, or never: the portion of a node, and a call of the store. */
const WRITTEN_SEC = 16;

/** Rows of a tenant with a rate of submits, as a bucket that runs out at the rate. */
interface Rated {
  perSec: number;
  level: number;
  at: number;
}

/**
 * No submits of all servers together exceed the rate of a tenant.
 * @param perSec jobs a second, by tenant
 */
export function ratesHold(perSec: ReadonlyMap<string, number> = new Map()): Checker {
  const rated = new Map<string, Rated>();
  for (const [tenant, rate] of perSec) rated.set(tenant, { perSec: rate, level: 0, at: 0 });
  return {
    name: "rates of quotas hold",
    saw(event) {
      if (event.kind !== "SUBMITTED") return;
      for (const { job } of event.rows) {
        const rate = rated.get(job.tenant);
        if (rate === undefined) continue;
        rate.level = Math.max(0, rate.level - (Math.max(0, event.at - rate.at) / 1_000) * rate.perSec) + 1;
        rate.at = event.at;
        if (rate.level <= Math.ceil(rate.perSec * (BURST_SEC + WRITTEN_SEC))) continue;
        throw new Violation(
          `${job.tenant} has more jobs than ${rate.perSec} a second and ${BURST_SEC} seconds saved up`,
        );
      }
    },
  };
}

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
