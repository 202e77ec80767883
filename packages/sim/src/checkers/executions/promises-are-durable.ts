import { type Checker, Violation } from "../checker.ts";
import type { Ledger } from "../recurring/ledger.ts";

/** The store has an assignment before the owner sends it, and a result before the gateway acknowledges it. */
export function promisesAreDurable(ledger: Ledger): Checker {
  return {
    name: "promises are durable",
    noticed(event) {
      if (event.kind !== "ASSIGN_SENT" && event.kind !== "ACKED") return;
      const { executionId, attempt, worker } = event;
      const account = ledger.get(executionId);
      if (event.kind === "ACKED") {
        if (account?.ended.has(attempt) === true) return;
        throw new Violation(`the result of attempt ${attempt} of ${executionId} was acknowledged and is not written`);
      }
      if (account?.assigned.get(attempt)?.worker === worker) return;
      throw new Violation(`attempt ${attempt} of ${executionId} was sent to ${worker} and is not written`);
    },
  };
}
