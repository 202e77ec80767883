import type { ExecutionRow } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, isRun, turnsIn } from "../recurring/ledger.ts";

/** A concurrency key never has more current attempts and open runs of workflows than its limit. */
export function limitsHold(): Checker {
  const keyOf = new Map<string, string>();
  const limits = new Map<string, number>();
  const running = new Map<string, Set<string>>();
  const leave = (id: string) => running.get(keyOf.get(id) ?? "")?.delete(id);
  const enter = (id: string) => {
    const key = keyOf.get(id);
    if (key === undefined) return;
    const ids = running.get(key) ?? new Set();
    running.set(key, ids.add(id));
    if (ids.size > (limits.get(key) ?? 0)) {
      throw new Violation(`${ids.size} of the key ${key} are current: ${[...ids].join(", ")}`);
    }
  };
  const appears = ({ id, job }: ExecutionRow) => {
    const { concurrencyKey, concurrencyLimit } = job.definition;
    if (concurrencyKey === null) return;
    keyOf.set(id, concurrencyKey);
    limits.set(concurrencyKey, Math.max(limits.get(concurrencyKey) ?? 0, concurrencyLimit));
  };
  return {
    name: "limits hold",
    saw(event) {
      for (const row of addedRows(event)) appears(row);
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      // The handler has ended although the store refused its result; the next commit writes another end.
      for (const { id } of event.outcome.refused) leave(id);
      const { ended, begun } = turnsIn(event, event.outcome);
      for (const { id } of ended) leave(id);
      for (const { before, after } of event.applied) {
        if (isRun(after) && after.queue === "OPEN" && before.queue !== "OPEN") enter(after.id);
      }
      for (const { id } of begun) enter(id);
    },
  };
}
