import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Quiet } from "./quiet.ts";
import { isOver, type Ledger } from "./recurring/ledger.ts";

/** Time in ms in which a cancellation is written while store and index answer. */
const LATE_MS = 30_000;

/**
 * A cancellation that a server has kept beside the store is written into the store as a command when the store answers, unless the
 * execution has ended by then, or the index has lost it. It leaves the index only after that.
 */
export function keptCancelsAreWritten(ledger: Ledger, quiet: Quiet): Checker {
  const kept = new Map<string, number>();
  /** Executions that commands cancel. */
  const commanded = new Set<string>();
  const isOpen = (executionId: string) => {
    const row = ledger.get(executionId)?.row;
    return row !== undefined && !isOver(row.state);
  };
  return {
    name: "kept cancels are written",
    saw(event) {
      if (event.kind === "COMMANDED" && event.command.kind === "CANCEL") {
        commanded.add(event.command.executionId);
        const keptMs = kept.get(event.command.executionId);
        if (keptMs !== undefined && event.at - EPOCH_MS >= keptMs) kept.delete(event.command.executionId);
      }
    },
    noticed(event) {
      if (event.kind === "INDEX_LOST") kept.clear();
      if (event.kind === "CANCELS_REMOVED")
        for (const id of event.executionIds)
          if (!commanded.has(id) && isOpen(id))
            throw new Violation(`the cancellation of ${id} has left the index, and the store does not have it`);
      if (event.kind === "CANCEL_KEPT") kept.set(event.executionId, event.atMs);
    },
    looked(nowMs) {
      for (const [executionId, atMs] of kept) {
        if (!isOpen(executionId)) kept.delete(executionId);
        else if (nowMs - Math.max(atMs, quiet.sinceMs) > LATE_MS)
          throw new Violation(`the cancellation of ${executionId} was kept, and nobody has written it`);
      }
    },
  };
}
