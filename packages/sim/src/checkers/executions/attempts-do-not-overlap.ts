import type { Moment, Ref } from "../history.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";
import { nameOf } from "./roll.ts";

/** How an earlier attempt may have ended that a later one runs beside. */
const GIVEN_UP = ["WORKER_LOST", "TIMED_OUT", "CANCELLED"];

type Running = Extract<Moment, { kind: "HANDLER_STARTED" }>;

/**
 * Two attempts overlap in time only if the first one's worker was declared lost, or it timed out or was
 * cancelled: both in the store's word, and before the second one began.
 */
export function attemptsDoNotOverlap(ledger: Ledger): Checker {
  const open = new Map<string, Running[]>();
  /** Tokens and their workers, assigned by a store that went back: it may assign the same token again, to another worker. */
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
    noticed(moment) {
      if (moment.kind === "HANDLER_STARTED") {
        if (forgotten.has(placeOf(moment))) return;
        const others = open.get(moment.executionId) ?? [];
        for (const other of others) judge(other, moment, ledger);
        open.set(moment.executionId, [...others, moment]);
      } else if (moment.kind === "HANDLER_ENDED") {
        leave(moment.executionId, ({ attempt, worker }) => attempt !== moment.attempt || worker !== moment.worker);
      } else if (moment.kind === "FAULT" && moment.fault === "WORKER_KILLED") {
        // Its handlers died with it.
        for (const id of [...open.keys()]) leave(id, ({ worker }) => worker !== moment.on);
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
