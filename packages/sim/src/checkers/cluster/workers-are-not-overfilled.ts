import { type Checker, Violation } from "./checker.ts";
import type { Roll } from "./roll.ts";

/**
 * A worker never runs more than its slots nor holds more than slots and prefetch, by what workers themselves
 * saw: what they were given, and what they had not finished.
 */
export function workersAreNotOverfilled(roll: Roll): Checker {
  return {
    name: "workers are not overfilled",
    noticed(moment) {
      if (moment.kind !== "HANDLER_STARTED" && moment.kind !== "DELIVERED") return;
      const attendance = roll.get(moment.worker);
      if (attendance === undefined) return;
      const { worker, slots, prefetch, holds, running } = attendance;
      if (running.size > slots) throw new Violation(`${worker} runs ${running.size} with ${slots} slots`);
      if (holds.size > slots + prefetch) {
        throw new Violation(`${worker} holds ${holds.size} with ${slots} slots and ${prefetch} more`);
      }
    },
  };
}
