import { type Deferred, deferred } from "../deferred.ts";
import { AttemptAborted } from "../handlers/context.ts";
import { thrownBy } from "../handlers/outcome.ts";
import type { Runtime } from "../runtime.ts";
import { unawaited } from "../steps/attempt-steps.ts";
import { Checkpoints } from "../steps/checkpoints.ts";
import { runWithRetries } from "../steps/run-step.ts";
import type { Checkpoint, StepName, StepOptions, Steps, WaitForSignalOptions } from "../steps/step-context.ts";
import { checkpointData, checkRun, resultData, stepName } from "../steps/step-data.ts";
import { STEP_ERRORS, StepError, type StepErrorName } from "../steps/step-error.ts";
import { delayUntil, durationMs, signalWait } from "../steps/wait-data.ts";
import type { AttemptFacts, FromIsolated, StepAnswer, ToIsolated } from "./isolation-messages.ts";

/** A call that waits for the worker's answer. */
interface Call {
  done: Deferred<unknown>;
  /** Runs the step's function and says how that ended; null: the call has none. */
  run: (() => Promise<void>) | null;
}

/** Steps and checkpoints in the process of an isolated handler. The worker's process stores them. */
export class IsolatedSteps {
  readonly step: Steps = {
    run: (name, fn, options = {}) => unawaited(this.#run(name, fn, options)) as Promise<never>,
    sleep: (name, duration) => unawaited(this.#sleep(name, (step) => durationMs(step, duration))),
    sleepUntil: (name, date) => unawaited(this.#sleep(name, (step) => delayUntil(step, date, this.#runtime))),
    waitForSignal: (names, options = {}) => unawaited(this.#waitForSignal(names, options)) as Promise<never>,
    key: (name) => `${this.#facts.executionId}/${stepName(name)}`,
  };
  readonly checkpoint: Checkpoint;
  readonly #facts: AttemptFacts;
  readonly #signal: AbortSignal;
  readonly #runtime: Runtime;
  readonly #tell: (message: FromIsolated) => void;
  readonly #checkpoints: Checkpoints;
  readonly #calls = new Map<number, Call>();
  #number = 0;

  /** @param lastCheckpoint newest checkpoint of earlier attempts; undefined: none */
  constructor(
    facts: AttemptFacts,
    lastCheckpoint: unknown,
    signal: AbortSignal,
    runtime: Runtime,
    tell: (message: FromIsolated) => void,
  ) {
    this.#facts = facts;
    this.#signal = signal;
    this.#runtime = runtime;
    this.#tell = tell;
    this.#checkpoints = new Checkpoints(checkpointData(lastCheckpoint), async (data) => {
      await this.#call(null, (call) => ({ kind: "CHECKPOINT", call, data }));
    });
    this.checkpoint = this.#checkpoints.asFunction();
  }

  hear(message: Extract<ToIsolated, StepAnswer>): void {
    const call = this.#calls.get(message.call);
    if (message.kind === "RUN_STEP") return void call?.run?.();
    this.#calls.delete(message.call);
    if (message.kind === "CALL_DONE") call?.done.resolve(message.value);
    else call?.done.reject(this.#errorOf(message));
    this.#goOn(message.call);
  }

  /** Lets the handler go on after a call, and then says so. */
  #goOn(call: number): void {
    this.#runtime.setTimer(0, () => this.#tell({ kind: "WENT_ON", call }));
  }

  /** Sends what is still to be sent ahead of the handler's result. */
  finish(): void {
    this.#checkpoints.flush();
  }

  async #run(name: StepName, fn: () => unknown, options: StepOptions): Promise<unknown> {
    const text = stepName(name);
    const retries = checkRun(text, fn, options);
    const run = async (call: number): Promise<void> => {
      try {
        const value = await runWithRetries(fn, retries, {
          runtime: this.#runtime,
          signal: this.#signal,
          check: () => undefined,
        });
        this.#tell({ kind: "STEP_RAN", call, data: resultData(text, value) });
      } catch (error) {
        this.#tell({ kind: "STEP_THREW", call });
        this.#calls.get(call)?.done.reject(error);
        this.#calls.delete(call);
        this.#goOn(call);
      }
    };
    return this.#call(run, (call) => ({ kind: "STEP", call, name: text }));
  }

  async #sleep(name: StepName, delayOf: (step: string) => number): Promise<void> {
    const text = stepName(name);
    const delayMs = delayOf(text);
    await this.#call(null, (call) => ({ kind: "SLEEP", call, name: text, delayMs }));
  }

  async #waitForSignal(names: string | readonly string[], options: WaitForSignalOptions): Promise<unknown> {
    const wait = signalWait(names, options);
    return this.#call(null, (call) => ({ kind: "WAIT_FOR_SIGNAL", call, ...wait }));
  }

  async #call(run: ((call: number) => Promise<void>) | null, ask: (call: number) => FromIsolated): Promise<unknown> {
    const call = ++this.#number;
    const done = deferred<unknown>();
    this.#calls.set(call, { done, run: run && (() => run(call)) });
    this.#tell(ask(call));
    return done.promise;
  }

  #errorOf({ ending, cause }: Extract<StepAnswer, { kind: "CALL_FAILED" }>): Error {
    if (cause !== null) return new AttemptAborted(this.#facts.fence, cause);
    const { name = "", message = "" } = ending.error ?? {};
    return isStepErrorName(name) ? new StepError(name, message) : thrownBy(ending);
  }
}

function isStepErrorName(name: string): name is StepErrorName {
  return (STEP_ERRORS as readonly string[]).includes(name);
}
