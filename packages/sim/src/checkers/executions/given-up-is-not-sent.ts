import { type Checker, Violation } from "./checker.ts";
import { nameOf } from "./roll.ts";

/**
 * An attempt that its owner has ended, whatever for, is not sent by it any more: it would begin after its
 * end. Gateways drop by its epoch an assignment of another owner that does not know of the end yet.
 */
export function givenUpIsNotSent(): Checker {
  /** The owner that wrote the end of an attempt, by token. */
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
