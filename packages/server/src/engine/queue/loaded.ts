import type { Candidate } from "../../domain/execution.ts";
import { type Entry, newEntry } from "../entry.ts";
import type { ReadMark } from "../inputs.ts";
import { forget } from "../rows.ts";
import type { Step } from "../state.ts";
import { isStale } from "./intake.ts";

/** Result of a read of executions by their ids. */
export interface Rows extends ReadMark {
  byId: ReadonlyMap<string, Candidate>;
}

/**
 * Looks up an execution that memory and store agree about. An execution that was not in memory is NEW, and the caller
 * gives it a place.
 * @returns null: the execution is final. UNSETTLED: a pending write will change the row that was read, so the caller
 * reads again
 */
export function settledEntry(step: Step, id: string, rows: Rows): Entry | null | "UNSETTLED" {
  const { entries } = step.state;
  const row = rows.byId.get(id);
  const known = entries.get(id);
  if (known === undefined) {
    if (row === undefined) return null;
    return isStale(step, row, rows) ? "UNSETTLED" : bring(step, row);
  }
  if (!known.unverified) return known;
  if (isStale(step, row ?? known.row, rows)) return "UNSETTLED";
  if (row?.attempt === known.rowAttempt && row.state === known.rowState) {
    known.unverified = false;
    return known;
  }
  // The hint was stale. If the execution was assigned on account of the hint, the commit's answer shows the truth.
  if (known.place === "ASSIGNED") return "UNSETTLED";
  forget(step, known);
  return row === undefined ? null : bring(step, row);
}

function bring(step: Step, row: Candidate): Entry {
  const entry = newEntry(row, false);
  step.state.entries.set(row.id, entry);
  return entry;
}
