import { STEPS_MAX, STEPS_MAX_BYTES } from "@mainspring/contract/limits";
import { type RecordedStep, StepKind } from "@mainspring/proto";
import type { ExecutionError } from "../../domain/execution.ts";

/**
 * Sizes of an execution's records, as far as the gateway of its current attempt knows them: those that came with the
 * assignment, and those that the attempt has made. The SDK keeps the same limits; the gateway keeps them against workers
 * that do not.
 */
export class StepBudget {
  readonly #results = new Map<string, number>();
  #resultBytes = 0;

  /** @param recorded records of earlier attempts, and signals */
  constructor(recorded: readonly RecordedStep[] = []) {
    for (const { name, kind, data } of recorded) if (kind !== StepKind.SIGNAL) this.#count(kind, name, data.length);
  }

  /**
   * Counts a record. A repeated result counts once. Checkpoints do not count: only the newest is kept, and its size has a
   * limit of its own.
   * @returns null: the execution may have the record; else the error with which the attempt fails
   */
  add(kind: StepKind, name: string, bytes: number): ExecutionError | null {
    this.#count(kind, name, bytes);
    if (this.#results.size > STEPS_MAX) return tooLarge(`${this.#results.size} steps; ${STEPS_MAX} may be`);
    if (this.#resultBytes <= STEPS_MAX_BYTES) return null;
    return tooLarge(`steps with ${this.#resultBytes} bytes of JSON; ${STEPS_MAX_BYTES} may be`);
  }

  #count(kind: StepKind, name: string, bytes: number): void {
    if (kind === StepKind.CHECKPOINT) return;
    const known = this.#results.get(name) ?? 0;
    const size = Math.max(known, bytes);
    this.#results.set(name, size);
    this.#resultBytes += size - known;
  }
}

function tooLarge(what: string): ExecutionError {
  return {
    name: "StepTooLarge",
    message: `the execution has ${what}: keep the progress of many items in ctx.checkpoint`,
  };
}
