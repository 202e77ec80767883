import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";

/** The store holds an assignment before the owner sends it, and a result before the gateway acknowledges it. */
export function promisesAreDurable(ledger: Ledger): Checker {
  return {
    name: "promises are durable",
    noticed(moment) {
      if (moment.kind !== "ASSIGN_SENT" && moment.kind !== "ACKED") return;
      const { executionId, attempt, worker } = moment;
      const account = ledger.get(executionId);
      if (moment.kind === "ACKED") {
        if (account?.ended.has(attempt) === true) return;
        throw new Violation(`the result of attempt ${attempt} of ${executionId} was acknowledged and is not written`);
      }
      if (account?.assigned.get(attempt)?.worker === worker) return;
      throw new Violation(`attempt ${attempt} of ${executionId} was sent to ${worker} and is not written`);
    },
  };
}
