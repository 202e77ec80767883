import { type Checker, Violation } from "../checker.ts";
import { addedRows, isOver, type Ledger } from "../recurring/ledger.ts";

/** At most one execution of a unique key is not final, and a repeated submit returns that one. */
export function uniqueKeysHold(ledger: Ledger): Checker {
  const holders = new Map<string, string>();
  return {
    name: "unique keys hold",
    saw(event) {
      for (const { id, job } of addedRows(event)) {
        const { uniqueKey } = job.definition;
        if (uniqueKey === null) continue;
        const name = JSON.stringify([job.tenant, uniqueKey]);
        const holder = holders.get(name);
        const state = ledger.get(holder ?? "")?.row.state ?? "CANCELLED";
        if (!isOver(state)) throw new Violation(`${id} has the key ${uniqueKey} of ${holder}, which is ${state}`);
        holders.set(name, id);
      }
      if (event.kind !== "SUBMITTED") return;
      if (event.outcome.kind !== "ACCEPTED" || event.outcome.replayed) return;
      for (const { executionId, deduplicated } of event.outcome.jobs) {
        const state = ledger.get(executionId ?? "")?.row.state ?? "unknown";
        if (deduplicated && isOver(state)) throw new Violation(`a submit was answered with ${executionId}, ${state}`);
      }
    },
  };
}
