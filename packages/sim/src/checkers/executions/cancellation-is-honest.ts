import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";
import { isOver, type Ledger } from "./ledger.ts";
import type { Quiet } from "./quiet.ts";

/** How an attempt may have ended that runs on as a zombie. */
const GIVEN_UP = ["WORKER_LOST", "TIMED_OUT", "CANCELLED"];
/** Beyond the grace time: for orders and answers to travel, and for commits that the store takes some seconds for. */
const TRAVEL_MS = 15_000;

interface Asked {
  executionId: string;
  atMs: number;
  answer: string | null;
}

/**
 * The answer to a cancel is true: CANCELLED is in the store when it is said, and nothing of it starts
 * after that but what was given up before; FINAL is final; and what was only REQUESTED ends in bounded time.
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
    noticed(moment) {
      if (moment.kind === "COMMAND_ANSWERED") answered(moment.commandId, moment.outcome);
      if (moment.kind !== "HANDLER_STARTED" || !cancelled.has(moment.executionId)) return;
      const { executionId, attempt, worker } = moment;
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
