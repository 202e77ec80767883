import { type Checker, Violation } from "../checker.ts";
import { isOver } from "../recurring/ledger.ts";

/** No execution leaves a final state. */
export function finalStatesAbsorb(): Checker {
  return {
    name: "final states absorb",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        if (isOver(before.state)) throw new Violation(`${before.id} was ${before.state} and became ${after.state}`);
      }
    },
  };
}
