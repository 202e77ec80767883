import { type Checker, Violation } from "../checker.ts";

/**
 * An attempt of an execution starts at one worker only. The number of an attempt that a store without generations has lost may be given
 * out again, so nothing is judged after such a loss.
 */
export function attemptsStartOnce(): Checker {
  const workers = new Map<string, string>();
  let isOver = false;
  return {
    name: "attempts start once",
    saw(event) {
      if (event.kind === "WENT_BACK") isOver ||= !event.hasGenerations;
    },
    noticed(event) {
      if (isOver || event.kind !== "HANDLER_STARTED") return;
      const { executionId, attempt, worker } = event;
      const name = `attempt ${attempt} of ${executionId}`;
      const first = workers.get(name);
      if (first !== undefined && first !== worker) throw new Violation(`${name} started at ${first} and at ${worker}`);
      workers.set(name, worker);
    },
  };
}
