import { isFinal } from "@mainspring/server/testing";
import { type Checker, Violation } from "./checker.ts";

/** DESIGN 9.9: nothing leaves a final state. */
export function finalStatesAbsorb(): Checker {
  return {
    name: "final states absorb",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        if (isFinal(before.state)) throw new Violation(`${before.id} was ${before.state} and became ${after.state}`);
      }
    },
  };
}
