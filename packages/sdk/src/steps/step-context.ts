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

/**
 * Length of a sleep: a number of milliseconds, or an object whose fields are added up, such as `{ days: 3, hours: 12 }`. At
 * most 366 days; 0 or less is no sleep.
 */
export type StepDuration = number | { days?: number; hours?: number; minutes?: number; seconds?: number; ms?: number };

/** Options of a step that waits for a signal. */
export interface WaitForSignalOptions {
  /** Longest wait, in milliseconds; more than 0, default and at most 366 days. */
  timeoutMs?: number;
  /** Name of the step; default: the names of the signals, with `|` between them. */
  name?: StepName;
}

/** Signal that a step has consumed. */
export interface ReceivedSignal<T = unknown> {
  name: string;
  /** Data as it arrives from JSON; null: none. The sender chooses the data, so check them as you check a payload. */
  data: T;
  /** Id of the signal, unique within the execution. */
  id: string;
}

/** The type of a step's result, as it arrives from JSON; undefined stays undefined. */
export type StepResult<T> = unknown extends T ? T : T extends undefined | void ? undefined : Jsonify<T>;

/**
 * Durable steps of an execution: parts of a handler that later attempts do not repeat.
 *
 * A step that sleeps or waits for a signal gives the slot of the handler back. When all that the handler does is to wait
 * for such steps, the attempt is suspended: the pending calls reject with an `AttemptAborted` whose `reason` is SUSPENDED,
 * so that `finally` runs, and whatever the handler then returns or throws is ignored. The execution runs again, as its
 * next attempt, when the first wait is over or a signal arrives: the handler begins anew, and steps that have ended give
 * their results at once. Asynchronous work outside of steps that goes on beside a wait is cut off by the suspension, so put
 * it into `step.run`. A suspension counts neither as a failure nor as a lost worker.
 */
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
   * Sleeps for a duration, measured from the first attempt that gets here, however many attempts and deploys come
   * between. A sleep of less than 5 seconds waits in place and keeps its slot; it begins anew in each attempt.
   * @param name name of the step, which an attempt may use once
   * @param duration milliseconds, or `{ days, hours, minutes, seconds, ms }`; at most 366 days. 0 or less returns at once
   * @throws {StepError} InvalidWait, InvalidStep, DuplicateStep, StepTooLarge, StepsUnsupported
   * @throws {AttemptAborted} the attempt is suspended or over
   */
  sleep(name: StepName, duration: StepDuration): Promise<void>;
  /**
   * Sleeps until a time. The first attempt that gets here measures the distance by the worker's wall clock; from then on
   * the server's clock counts. A time that has passed returns at once.
   * @param name name of the step, which an attempt may use once
   * @param date at most 366 days from now
   * @throws {StepError} InvalidWait, InvalidStep, DuplicateStep, StepTooLarge, StepsUnsupported
   * @throws {AttemptAborted} the attempt is suspended or over
   */
  sleepUntil(name: StepName, date: Date): Promise<void>;
  /**
   * Waits for a signal to this execution, which `client.signalExecution` or the API sends. The step consumes the earliest
   * accepted signal of one of the names; signals that came before the wait count too, and each is consumed once. Later
   * attempts get the same answer.
   * @param names 1 to 100 names of signals, each of 1 to 128 characters
   * @returns the signal; null: none came within `timeoutMs`
   * @throws {StepError} InvalidWait, InvalidStep, DuplicateStep, StepTooLarge, StepsUnsupported
   * @throws {AttemptAborted} the attempt is suspended or over
   */
  waitForSignal<T = unknown>(
    names: string | readonly string[],
    options?: WaitForSignalOptions,
  ): Promise<ReceivedSignal<T> | null>;
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
