import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { isOver, type Ledger } from "../recurring/ledger.ts";

/** Ends of an attempt after which its handler may run on. */
const GIVEN_UP = ["WORKER_LOST", "TIMED_OUT", "CANCELLED"];
/**
 * Time for messages and answers beyond the grace time, in milliseconds, including commits that take the store some
 * seconds.
 */
const TRAVEL_MS = 15_000;

interface Asked {
  executionId: string;
  atMs: number;
  answer: string | null;
}

/**
 * The answer to a cancel is true. After CANCELLED, the store has the state, and no attempt starts except one that was
 * given up before. FINAL means final. After REQUESTED, the execution ends in bounded time.
 */
export function cancellationIsHonest(ledger: Ledger, quiet: Quiet): Checker {
  const open = new Map<string, Asked>();
  const cancelled = new Set<string>();
  const answered = (commandId: string, outcome: string) => {
    const asked = open.get(commandId);
    const state = ledger.get(asked?.executionId ?? "")?.row.state ?? "unknown";
    if (asked === undefined) return;
    asked.answer = outcome;
    if (outcome === "CANCELLED") cancelled.add(asked.executionId);
    const isTrue = outcome === "REQUESTED" || (outcome === "CANCELLED" ? state === "CANCELLED" : isOver(state));
    if (!isTrue) throw new Violation(`${asked.executionId} was reported ${outcome}, and is ${state}`);
  };
  return {
    name: "cancellation is honest",
    saw(event) {
      if (event.kind !== "COMMANDED" || event.command.kind !== "CANCEL") return;
      const { id, executionId } = event.command;
      open.set(id, { executionId, atMs: event.at - EPOCH_MS, answer: null });
    },
    noticed(event) {
      if (event.kind === "COMMAND_ANSWERED") answered(event.commandId, event.outcome);
      if (event.kind !== "HANDLER_STARTED" || !cancelled.has(event.executionId)) return;
      const { executionId, attempt, worker } = event;
      const end = ledger.get(executionId)?.ended.get(attempt)?.state ?? "open";
      if (GIVEN_UP.includes(end)) return;
      throw new Violation(`attempt ${attempt} of ${executionId} began on ${worker}, and it was reported CANCELLED`);
    },
    looked(nowMs) {
      for (const [id, { executionId, atMs }] of open) {
        const row = ledger.get(executionId)?.row;
        if (row === undefined || isOver(row.state)) {
          open.delete(id);
          continue;
        }
        const sinceMs = Math.max(atMs, quiet.butForBlocksSinceMs);
        if (nowMs - sinceMs < row.job.definition.policy.cancelGraceMs + TRAVEL_MS) continue;
        throw new Violation(`${executionId} was to be cancelled ${Math.round((nowMs - atMs) / 1_000)} s ago`);
      }
    },
  };
}
