import { type Checker, Violation } from "./checker.ts";
import { isOver, type Ledger } from "./ledger.ts";

/** A command leaves the inbox with the commit that obeys it or after that, and none stays for ever. */
export function commandsAreObeyed(ledger: Ledger): Checker {
  const open = new Map<string, string>();
  const known = new Map<string, string>();
  return {
    name: "commands are obeyed",
    saw(event) {
      if (event.kind === "COMMANDED") {
        const { command } = event;
        open.set(command.id, command.kind === "CANCEL" ? command.executionId : command.jobId);
        if (command.kind === "CANCEL") known.set(command.id, command.executionId);
      }
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const id of event.asked.commandsDone) {
        // Said again by a read that began before: of an execution that is over that changes nothing.
        const executionId = known.get(id);
        open.delete(id);
        // Its handler is over, and the next commit says so in other words than the store refused.
        const isRefused = event.outcome.refused.some((refused) => refused.id === executionId);
        if (executionId === undefined || isRefused) continue;
        const state = ledger.get(executionId)?.row.state ?? "unknown";
        if (!isOver(state)) throw new Violation(`the command to cancel ${executionId} is done, and it is ${state}`);
      }
    },
    atEnd() {
      const [first] = open;
      if (first !== undefined) throw new Violation(`the command ${first[0]} for ${first[1]} was never done`);
    },
  };
}
