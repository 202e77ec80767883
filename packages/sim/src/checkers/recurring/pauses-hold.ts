import type { StoreEvent } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";

/** Requests to the store about one job. */
interface Orders {
  /** Ids of commands that are not applied yet, with their kind. */
  readonly open: Map<string, "PAUSE" | "RESUME">;
  isPaused: boolean;
}

/**
 * From the commit that applies a pause until a resume is requested, no planned instant becomes an execution, except in
 * a backfill.
 */
export function pausesHold(): Checker {
  const jobs = new Map<string, Orders>();
  const jobOf = new Map<string, string>();
  const commanded = ({ command }: Extract<StoreEvent, { kind: "COMMANDED" }>) => {
    if (command.kind !== "PLAN" || (command.order.kind !== "PAUSE" && command.order.kind !== "RESUME")) return;
    const orders = jobs.get(command.jobId) ?? { open: new Map(), isPaused: false };
    jobs.set(command.jobId, orders);
    jobOf.set(command.id, command.jobId);
    orders.open.set(command.id, command.order.kind);
    if (command.order.kind === "RESUME") orders.isPaused = false;
  };
  const done = (commandId: string) => {
    const orders = jobs.get(jobOf.get(commandId) ?? "");
    const isPause = orders?.open.get(commandId) === "PAUSE";
    if (orders === undefined || !orders.open.delete(commandId)) return;
    // An open resume may be applied after the pause.
    if (isPause) orders.isPaused = ![...orders.open.values()].includes("RESUME");
  };
  return {
    name: "pauses hold",
    saw(event) {
      if (event.kind === "COMMANDED") commanded(event);
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { id, job, trigger } of event.born) {
        if (trigger === "SCHEDULE" && jobs.get(job.jobId)?.isPaused === true)
          throw new Violation(`${id} was fired while its job ${job.jobId} was paused`);
      }
      for (const commandId of event.asked.commandsDone) done(commandId);
    },
  };
}
