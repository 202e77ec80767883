import { type Checker, Violation } from "../checker.ts";
import { assignedIn } from "../recurring/ledger.ts";

/** Each assignment has a token of its own, greater than all earlier ones of the same execution. */
export function tokensGrow(): Checker {
  const highest = new Map<string, number>();
  return {
    name: "tokens grow",
    saw(event) {
      // A store without generations has forgotten later attempts, and assigns their numbers again.
      if (event.kind === "WENT_BACK" && !event.hasGenerations) highest.clear();
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const missed = new Set(event.outcome.missed);
      for (const { id, attempt } of assignedIn(event)) {
        if (missed.has(id)) continue;
        const before = highest.get(id) ?? 0;
        if (attempt <= before) throw new Violation(`attempt ${attempt} of ${id} was given out after ${before}`);
        highest.set(id, attempt);
      }
      for (const { before, after } of event.applied) {
        if (after.attempt < before.attempt) throw new Violation(`the attempt of ${after.id} went back`);
      }
    },
  };
}
