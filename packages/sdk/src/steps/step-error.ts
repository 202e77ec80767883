import { advised } from "../handlers/retry-errors.ts";

/** Names of `StepError`. */
export const STEP_ERRORS = [
  /** The name, the function or an option of a step is wrong. */
  "InvalidStep",
  /** The duration, the time or the names of signals of a step that waits are wrong. */
  "InvalidWait",
  /** The attempt has used the name of the step before. */
  "DuplicateStep",
  /** The result, a checkpoint, or all steps of the execution together exceed a limit. */
  "StepTooLarge",
  /** JSON cannot express the result or checkpoint. */
  "StepNotJson",
  /** The gateway that the worker is connected to belongs to an older release, which cannot store steps or suspend. */
  "StepsUnsupported",
] as const;
/** Name of a `StepError`. */
export type StepErrorName = (typeof STEP_ERRORS)[number];

/**
 * Error of `ctx.step` and `ctx.checkpoint`; `name` is one of `STEP_ERRORS`. A handler that does not catch it fails
 * without a retry. StepsUnsupported is an exception: the job's policy decides, because another server may be newer.
 */
export class StepError extends Error {
  override readonly name: StepErrorName;

  constructor(name: StepErrorName, message: string) {
    super(message);
    this.name = name;
    if (name !== "StepsUnsupported") advised(this, { kind: "NEVER" });
  }
}
