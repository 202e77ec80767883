import { type Checker, Violation } from "./checker.ts";

/** DESIGN 9.5: failures never exceed `maxAttempts`, losses never `maxLost`. */
export function budgetsHold(): Checker {
  return {
    name: "budgets hold",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { after } of event.applied) {
        const { retry, maxLost } = after.job.definition.policy;
        if (after.failures > retry.maxAttempts) throw new Violation(`${after.id} failed ${after.failures} times`);
        if (after.lost > maxLost) throw new Violation(`${after.id} was lost ${after.lost} times`);
      }
    },
  };
}
