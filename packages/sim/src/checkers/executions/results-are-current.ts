import { type Checker, Violation } from "../checker.ts";
import { isRun } from "../recurring/ledger.ts";

/**
 * The stored result is that of the current attempt. Every handler returns the number of its attempt, or a list that begins
 * with it.
 */
export function resultsAreCurrent(): Checker {
  return {
    name: "results are current",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { after } of event.applied) {
        if (after.state !== "SUCCEEDED" || isRun(after)) continue;
        const text = after.result === null ? "nothing" : Buffer.from(after.result).toString();
        const said = /^\[(\d+),/.exec(text)?.[1] ?? text;
        if (said !== String(after.attempt)) {
          throw new Violation(`attempt ${after.attempt} of ${after.id} has the result of attempt ${said}`);
        }
      }
    },
  };
}
