import type { ExecutionId } from "../../domain/ids.ts";
import { orderStop } from "../attempts/cancel.ts";
import { type Entry, isCancelled } from "../entry.ts";
import { finishEntry, forget } from "../rows.ts";
import { supersedeRun } from "../runs/advance.ts";
import type { Step } from "../state.ts";
import type { Planned } from "./plans.ts";

/**
 * Cancels the executions that the newest instant of a job with CANCEL_PREVIOUS waits for. The plan itself shows that
 * they must be cancelled, so a next owner repeats the cancellation.
 */
export function cancelPrevious(step: Step, { job, plan, open }: Planned): void {
  if (plan.bufferedAt === null || job.definition.recurrence?.overlap !== "CANCEL_PREVIOUS") return;
  const misfired = plan.catchUps.filter(({ trigger }) => trigger === "SCHEDULE").flatMap((catchUp) => catchUp.open);
  for (const id of [plan.previous, ...misfired]) if (id !== null && open.has(id)) cancelOne(step, id);
}

function cancelOne(step: Step, id: ExecutionId): void {
  const { plans, entries, runs } = step.state;
  if (runs.byId.has(id) || runs.superseded.has(id)) return supersedeRun(step, id);
  // The commit that creates the execution is not answered yet. Its answer triggers this check again.
  if (plans.uncommitted.has(id)) return;
  const entry = entries.get(id);
  if (entry !== undefined) endSuperseded(step, entry);
  else if (!plans.superseding.has(id)) {
    plans.superseding.add(id);
    step.wants.push({ kind: "LOAD", ids: [id] });
  }
}

export function endSuperseded(step: Step, entry: Entry): void {
  if (entry.row.queue === "OPEN") {
    forget(step, entry);
    return supersedeRun(step, entry.id);
  }
  if (entry.superseded) return;
  const wasCancelled = isCancelled(entry);
  entry.superseded = true;
  if (entry.place !== "ASSIGNED") return finishEntry(step, entry, "CANCELLED", { reason: "SUPERSEDED" });
  // The worker of an execution that was taken over is told when it is back, as with a cancel command.
  if (!wasCancelled && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");
}
