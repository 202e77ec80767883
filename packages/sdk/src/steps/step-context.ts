import type { Jsonify } from "../jsonify.ts";

/**
 * Name of a step, which identifies it within its execution: 1 to 256 characters. In a loop the name is a list of texts
 * and numbers, such as `["charge", index]`, whose JSON text is then the name.
 */
export type StepName = string | readonly (string | number)[];

/** Options of a step. */
export interface StepOptions {
  /**
   * Number of times that the step runs again in place after an error; 0 to 1_000, default 0. A wait of up to half a
   * second precedes the first repetition, and a longer one of up to 30 seconds the later ones. A `TerminalError` or
   * `RetryAtError`, or an aborted `ctx.signal`, ends the repetitions.
   */
  retries?: number;
}

/** The type of a step's result, as it arrives from JSON; undefined stays undefined. */
export type StepResult<T> = unknown extends T ? T : T extends undefined | void ? undefined : Jsonify<T>;

/** Durable steps of an execution: parts of a handler that later attempts do not repeat. */
export interface Steps {
  /**
   * Runs a function once for the execution. The promise resolves when the server has stored the result. A later
   * attempt that asks for the same name gets the stored result, and the function is not called. The order of the names
   * does not matter, and steps may run concurrently. The function runs at least once: if the worker is lost between
   * the effect and the storage, the next attempt repeats it, so hand `step.key(name)` to the outside.
   *
   * If the function throws, nothing is stored, and the error goes to the handler. Await the promise: an error of a
   * promise that nobody awaits is lost.
   * @param name name of the step, which an attempt may use once
   * @returns result as it arrives from JSON, the same in the attempt that runs the step and in later ones
   * @throws {StepError} nothing was stored; the execution is not retried, unless the handler catches the error
   * @throws {AttemptAborted} the attempt is over, or the server has given the execution to another worker
   */
  run<T>(name: StepName, fn: () => T | PromiseLike<T>, options?: StepOptions): Promise<StepResult<T>>;
  /**
   * Idempotency key of a step for calls to the outside: `<execution id>/<name>`, the same in every attempt.
   * @throws {StepError} InvalidStep
   */
  key(name: StepName): string;
}

/**
 * Function that stores how far a handler has come, and the newest such value. The value is JSON of at most 256 KiB. The
 * server keeps the newest checkpoint of an execution. The promise resolves when the server has stored this value or a
 * newer one. While one is on its way, newer values replace each other, so calls need not be awaited; the error of a call
 * that nobody awaits is lost. The promise rejects with a `StepError` if the value is too large or no JSON, or if the
 * server is too old, and with `AttemptAborted` if the attempt is over.
 */
export interface Checkpoint {
  (value: unknown): Promise<void>;
  /** Newest checkpoint of this attempt, else of an earlier one, as it arrives from JSON; undefined: none. */
  readonly last: unknown;
}
