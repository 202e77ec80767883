import type { ExecutionId } from "../../domain/ids.ts";
import { orderStop } from "../attempts/cancel.ts";
import { type Entry, isCancelled } from "../entry.ts";
import { finishEntry } from "../rows.ts";
import type { Step } from "../state.ts";
import type { Planned } from "./plans.ts";

/**
 * Cancels what the newest instant of a job with CANCEL_PREVIOUS waits for. That it is to be cancelled follows from the plan, so that the
 * next owner does it again.
 */
export function supersede(step: Step, { job, plan, open }: Planned): void {
  if (plan.bufferedAt === null || job.definition.recurrence?.overlap !== "CANCEL_PREVIOUS") return;
  const misfired = plan.catchUps.filter(({ trigger }) => trigger === "SCHEDULE").flatMap((catchUp) => catchUp.open);
  for (const id of [plan.previous, ...misfired]) if (id !== null && open.has(id)) supersedeOne(step, id);
}

function supersedeOne(step: Step, id: ExecutionId): void {
  const { plans, entries } = step.state;
  // Its birth will be answered soon, and this is looked at again.
  if (plans.unborn.has(id)) return;
  const entry = entries.get(id);
  if (entry !== undefined) endSuperseded(step, entry);
  else if (!plans.superseding.has(id)) {
    plans.superseding.add(id);
    step.wants.push({ kind: "LOAD", ids: [id] });
  }
}

export function endSuperseded(step: Step, entry: Entry): void {
  if (entry.superseded) return;
  const wasCancelled = isCancelled(entry);
  entry.superseded = true;
  if (entry.place !== "ASSIGNED") return finishEntry(step, entry, "CANCELLED", { reason: "SUPERSEDED" });
  // As with a command: one that was taken over is told when its worker is back.
  if (!wasCancelled && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");
}
