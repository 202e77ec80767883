import { type Checker, Violation } from "./checker.ts";
import { nameOf } from "./roll.ts";

/**
 * An attempt that its owner has ended, whatever for, is not sent by it any more: it would begin after its
 * end. What another owner sends that does not know of it yet, gateways drop by its epoch.
 */
export function givenUpIsNotSent(): Checker {
  /** By token: which owner wrote down that it had ended. */
  const endedBy = new Map<string, string>();
  return {
    name: "what is given up is not sent",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { before, after } of event.applied) {
        for (const { attempt } of after.attempts.slice(before.attempts.length)) {
          endedBy.set(nameOf({ executionId: after.id, attempt }), event.by);
        }
      }
    },
    noticed(moment) {
      if (moment.kind !== "ASSIGN_LEFT" || endedBy.get(nameOf(moment)) !== moment.owner) return;
      throw new Violation(`attempt ${moment.attempt} of ${moment.executionId} was sent when it had ended`);
    },
  };
}
