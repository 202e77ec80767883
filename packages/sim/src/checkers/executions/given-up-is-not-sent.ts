import { type Checker, Violation } from "../checker.ts";
import { nameOf } from "../cluster/worker-tracker.ts";

/**
 * An owner does not send an attempt that it has ended, for whatever reason, because the attempt would begin after its
 * end. Assignments of another owner that does not know of the end yet are dropped by gateways, because their epoch is
 * old.
 */
export function givenUpIsNotSent(): Checker {
  /** Owner that wrote the end of an attempt, by token. */
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
    noticed(event) {
      if (event.kind !== "ASSIGN_LEFT" || endedBy.get(nameOf(event)) !== event.owner) return;
      throw new Violation(`attempt ${event.attempt} of ${event.executionId} was sent when it had ended`);
    },
  };
}
