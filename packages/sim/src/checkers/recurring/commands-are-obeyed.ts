import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { isOver, type Ledger } from "./ledger.ts";

/**
 * Time within which a pause or a resume takes effect while no fault is active, in milliseconds, whatever other commands
 * are open.
 */
const BOUND_MS = 30_000;

/** A command leaves the inbox with the commit that applies it or after that, in time, and no command stays for ever. */
export function commandsAreObeyed(ledger: Ledger, quiet: Quiet): Checker {
  /** Time of each open pause and resume. */
  const givenMs = new Map<string, number>();
  const open = new Map<string, string>();
  const known = new Map<string, string>();
  return {
    name: "commands are obeyed",
    saw(event) {
      if (event.kind === "COMMANDED") {
        const { command } = event;
        open.set(command.id, "jobId" in command ? command.jobId : command.executionId);
        const isToggle = command.kind === "PLAN" && (command.order.kind === "PAUSE" || command.order.kind === "RESUME");
        const isOrder = command.kind === "PAUSE_RUN" || command.kind === "RESUME_RUN";
        if (isToggle || isOrder) givenMs.set(command.id, event.at - EPOCH_MS);
        if (command.kind === "CANCEL") known.set(command.id, command.executionId);
      }
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      // Commands between the owners of runs and of the keys of their nodes.
      for (const command of event.outcome.added ?? []) {
        open.set(command.id, "jobId" in command ? command.jobId : command.executionId);
        if (command.kind === "NODE_ENDED") givenMs.set(command.id, event.at - EPOCH_MS);
        if (command.kind === "CANCEL") known.set(command.id, command.executionId);
      }
      for (const id of event.asked.commandsDone) {
        // A read that began earlier returned the command again; for an execution that is over, that changes nothing.
        const executionId = known.get(id);
        open.delete(id);
        givenMs.delete(id);
        // The handler is over, and the next commit reports it in a form that the store accepts.
        const isRefused = event.outcome.refused.some((refused) => refused.id === executionId);
        if (executionId === undefined || isRefused) continue;
        const state = ledger.get(executionId)?.row.state ?? "unknown";
        if (!isOver(state)) throw new Violation(`the command to cancel ${executionId} is done, and it is ${state}`);
      }
    },
    looked(nowMs) {
      for (const [id, atMs] of givenMs) {
        if (nowMs - Math.max(atMs, quiet.sinceMs) > BOUND_MS)
          throw new Violation(`the command ${id} for ${open.get(id)} has not been obeyed for ${nowMs - atMs} ms`);
      }
    },
    atEnd() {
      const [first] = open;
      if (first !== undefined) throw new Violation(`the command ${first[0]} for ${first[1]} was never done`);
    },
  };
}
