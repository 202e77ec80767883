import type { Ref, SimEvent } from "../../history.ts";
import { type Checker, Violation } from "../checker.ts";
import { nameOf } from "../cluster/worker-tracker.ts";
import type { Ledger } from "../recurring/ledger.ts";

/** Ends of an attempt after which a later attempt may run beside its handler. */
const GIVEN_UP = ["WORKER_LOST", "TIMED_OUT", "CANCELLED"];

type Running = Extract<SimEvent, { kind: "HANDLER_STARTED" }>;

/**
 * Two attempts overlap in time only if the first one's worker was declared lost, or the first one timed out or was
 * cancelled; the store must say so before the second one began.
 */
export function attemptsDoNotOverlap(ledger: Ledger): Checker {
  const open = new Map<string, Running[]>();
  /**
   * Tokens and their workers, assigned by a store that was restored to an earlier state: it may assign the same token
   * again, to another worker.
   */
  const forgotten = new Set<string>();
  const leave = (id: string, stays: (running: Running) => boolean) => {
    const rest = (open.get(id) ?? []).filter(stays);
    if (rest.length > 0) open.set(id, rest);
    else open.delete(id);
  };
  return {
    name: "attempts do not overlap",
    saw(event) {
      if (event.kind !== "WENT_BACK") return;
      for (const [executionId, { assigned }] of ledger.accounts) {
        for (const [attempt, { worker }] of assigned) forgotten.add(placeOf({ executionId, attempt, worker }));
      }
      open.clear();
    },
    noticed(event) {
      if (event.kind === "HANDLER_STARTED") {
        if (forgotten.has(placeOf(event))) return;
        const others = open.get(event.executionId) ?? [];
        for (const other of others) judge(other, event, ledger);
        open.set(event.executionId, [...others, event]);
      } else if (event.kind === "HANDLER_ENDED") {
        leave(event.executionId, ({ attempt, worker }) => attempt !== event.attempt || worker !== event.worker);
      } else if (event.kind === "FAULT" && event.fault === "WORKER_KILLED") {
        // The handlers died with the worker.
        for (const id of [...open.keys()]) leave(id, ({ worker }) => worker !== event.on);
      }
    },
  };
}

function placeOf(given: Ref & { worker: string }): string {
  return `${nameOf(given)} at ${given.worker}`;
}

function judge(other: Running, late: Running, ledger: Ledger): void {
  const { executionId } = other;
  if (other.attempt === late.attempt) {
    throw new Violation(`attempt ${late.attempt} of ${executionId} ran twice: on ${other.worker} and ${late.worker}`);
  }
  const first = Math.min(other.attempt, late.attempt);
  const end = ledger.get(executionId)?.ended.get(first)?.state ?? "open";
  if (GIVEN_UP.includes(end)) return;
  throw new Violation(
    `attempts ${other.attempt} and ${late.attempt} of ${executionId} overlap, and ${first} is ${end}`,
  );
}
