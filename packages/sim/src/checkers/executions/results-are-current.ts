import { type Checker, Violation } from "../checker.ts";
import { isRun } from "../recurring/ledger.ts";

/** The stored result is that of the current attempt. Every handler returns the number of its attempt. */
export function resultsAreCurrent(): Checker {
  return {
    name: "results are current",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { after } of event.applied) {
        if (after.state !== "SUCCEEDED" || isRun(after)) continue;
        const said = after.result === null ? "nothing" : Buffer.from(after.result).toString();
        if (said !== String(after.attempt)) {
          throw new Violation(`attempt ${after.attempt} of ${after.id} has the result of attempt ${said}`);
        }
      }
    },
  };
}
