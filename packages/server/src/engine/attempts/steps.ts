import type { ReportedStep } from "../../ports/step-messages.ts";
import { tellRecorded } from "../events.ts";
import type { Step } from "../state.ts";
import { current, giveOwnRow, refuse } from "./attempts.ts";

/**
 * Takes a record of a handler. The first record of an execution writes the execution's own row, which from then on says
 * that there are records; later attempts read them.
 */
export function stepReported(step: Step, from: string, report: ReportedStep): void {
  const { shard, executionId, attempt, workerId, number, name, step: kind, data, signalId } = report;
  const found = current(step, report, workerId);
  if (found === null) return refuse(step, from, workerId, report);
  const record = { executionId, name, kind, attempt, number, at: step.now, data };
  const isWritten = step.batch.record(shard, signalId === undefined ? record : { ...record, signalId });
  if (found.entry.row.steps === undefined) {
    found.entry.row.steps = "RECORDED";
    giveOwnRow(step, found.entry, true);
  }
  if (isWritten && kind === "RESULT") tellRecorded(step, found.entry.row, report);
  step.batch.acknowledgeStep(from, workerId, { shard, executionId, attempt, number });
}
