import { type Checker, Violation } from "../checker.ts";
import type { Ledger } from "../recurring/ledger.ts";

/** The store takes records of the current attempt only: the newest one, until the commit that ends it. */
export function stepsAreCurrent(ledger: Ledger): Checker {
  return {
    name: "steps are current",
    saw(event) {
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { executionId, attempt, name } of event.asked.steps) {
        const account = ledger.get(executionId);
        if (account === undefined) throw new Violation(`${executionId} has a record and no row`);
        const newest = Math.max(0, ...account.assigned.keys());
        // One commit may hold a record, the end of its attempt, and the next assignment.
        const endsNow = event.applied.some(({ before, after }) => {
          const ended = after.id === executionId ? after.attempts.slice(before.attempts.length) : [];
          return ended.some((end) => end.attempt === attempt);
        });
        if (endsNow || (attempt === newest && account.current === attempt)) continue;
        throw new Violation(
          `${executionId} has a record "${name}" of attempt ${attempt}, and attempt ${newest} is current`,
        );
      }
    },
  };
}
