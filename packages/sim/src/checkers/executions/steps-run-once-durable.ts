import { type Checker, Violation } from "../checker.ts";

interface Durable {
  attempt: number;
  value: string;
}

/**
 * A step that a handler has seen durable has one value for ever, and no later attempt runs it again. A checkpoint that a
 * handler has seen durable is what later attempts find, or a newer one.
 */
export function stepsRunOnceDurable(): Checker {
  /** Steps by execution and name. */
  const durable = new Map<string, Durable>();
  const checkpoints = new Map<string, { attempt: number; checkpoint: number }>();
  return {
    name: "steps run once durable",
    noticed(event) {
      if (event.kind === "STEP_RAN") {
        const known = durable.get(`${event.executionId}/${event.name}`);
        if (known === undefined || known.attempt >= event.attempt) return;
        throw new Violation(`attempt ${event.attempt} of ${event.executionId} ran ${event.name}, which was durable`);
      }
      if (event.kind === "STEP_DURABLE") {
        const { executionId, name, attempt, value } = event;
        const key = `${executionId}/${name}`;
        const known = durable.get(key);
        if (known === undefined) durable.set(key, { attempt, value });
        else if (known.value !== value)
          throw new Violation(`${name} of ${executionId} had the value ${known.value}, and then ${value}`);
      } else if (event.kind === "CHECKPOINTED") {
        const { executionId, attempt, checkpoint } = event;
        const known = checkpoints.get(executionId);
        if (known === undefined || known.checkpoint < checkpoint) checkpoints.set(executionId, { attempt, checkpoint });
      } else if (event.kind === "CHECKPOINT_SEEN") {
        const known = checkpoints.get(event.executionId);
        if (known === undefined || known.attempt >= event.attempt || (event.last ?? 0) >= known.checkpoint) return;
        const { executionId, attempt, last } = event;
        throw new Violation(
          `attempt ${attempt} of ${executionId} found the checkpoint ${last}, not ${known.checkpoint}`,
        );
      }
    },
  };
}
