import type { StoreDeadLetters } from "../../../ports/store-dead-letters.ts";
import { listDeadLetters } from "./letter-lists.ts";
import { advanceRun, beginRun, type FlowsOf, openRuns, readRun } from "./letter-runs.ts";
import { type LetterParts, settleLetters } from "./settle-letters.ts";

/** See StoreDeadLetters. */
export function deadLetters(parts: LetterParts & { flowsOf: FlowsOf }): StoreDeadLetters {
  const { db } = parts;
  return {
    list: listDeadLetters(parts),
    settle: (asked, note) => settleLetters(parts, asked, note),
    begin: (run, note) => beginRun(parts, run, note),
    advance: (...asked) => advanceRun(parts, ...asked),
    readRun: (...asked) => readRun(db, ...asked),
    openRuns: () => openRuns(db),
  };
}
