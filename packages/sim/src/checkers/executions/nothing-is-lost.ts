import { type Checker, Violation } from "../checker.ts";
import { addedRows, isOver, isRun } from "../recurring/ledger.ts";

/** Every accepted job is final in the end, and a repeated submit took effect once. */
export function nothingIsLost(): Checker {
  const states = new Map<string, string>();
  /** Every execution that ever existed, even in a store that was restored to an earlier state. */
  const ever = new Set<string>();
  const byKey = new Map<string, Set<string>>();
  return {
    name: "nothing is lost",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        states.clear();
        byKey.clear();
        for (const { id, state } of event.rows) states.set(id, state);
      }
      if (event.kind === "COMMITTED") for (const { after } of event.applied) states.set(after.id, after.state);
      for (const { id, state } of addedRows(event)) {
        states.set(id, state);
        ever.add(id);
      }
      if (event.kind !== "SUBMITTED") return;
      const key = event.submission.idempotency?.key;
      if (key === undefined || event.rows.length === 0) return;
      const own = event.rows.filter((row) => row.node === null || isRun(row)).map(({ id }) => id);
      byKey.set(key, new Set([...(byKey.get(key) ?? []), ...own]));
    },
    atEnd(history) {
      for (const [key, ids] of byKey)
        if (ids.size > 1) throw new Violation(`the key ${key} made ${ids.size} executions`);
      for (const { executionId } of history.of("ACCEPTED")) {
        if (!ever.has(executionId)) throw new Violation(`${executionId} was accepted and does not exist`);
      }
      for (const { executionId } of history.of("RETRY_ANSWERED")) {
        if (!ever.has(executionId)) throw new Violation(`${executionId} was to run again and does not exist`);
      }
      for (const [id, state] of states) if (!isOver(state)) throw new Violation(`${id} stayed ${state}`);
    },
  };
}
