import { type Deferred, deferred } from "../deferred.ts";
import { type AbortCause, AttemptAborted } from "../handlers/context.ts";
import type { Runtime } from "../runtime.ts";
import type { Assignment, StepKind, StepRecord, WaitReport } from "../session/work.ts";
import { Checkpoints } from "./checkpoints.ts";
import { runWithRetries } from "./run-step.ts";
import type { Checkpoint, StepName, StepOptions, Steps, WaitForSignalOptions } from "./step-context.ts";
import { checkRun, receivedData, resultData, STEPS_MAX, STEPS_MAX_BYTES, stepName, valueOf } from "./step-data.ts";
import { StepError } from "./step-error.ts";
import type { StepOutbox } from "./step-outbox.ts";
import { delayUntil, durationMs, signalWait } from "./wait-data.ts";
import { SHORT_MS, Waits } from "./waits.ts";

/** Attempt that the steps belong to. */
interface SteppingAttempt {
  readonly assignment: Assignment;
  readonly phase: "WAITING" | "RUNNING" | "OVER";
  readonly fence: string;
  readonly signal: AbortSignal;
  readonly abortCause: AbortCause | null;
}

interface Parts {
  readonly outbox: StepOutbox;
  readonly runtime: Runtime;
}

/** Key of a method that handlers do not see; a copy of a `Steps` has it too. */
const HOLD = Symbol("hold");

/**
 * Keeps the attempt of these steps from being suspended, until the returned function is called. Steps that are not those
 * of an executor's attempt are never suspended.
 */
export function hold(step: Steps & { readonly [HOLD]?: () => () => void }): () => void {
  return step[HOLD]?.() ?? (() => undefined);
}

/** A copy of the steps, which also tells a watcher of each hold. @param held called at its beginning; returns a function for its end */
export function watchHolds(step: Steps, held: () => () => void): Steps {
  const watched = () => {
    const [release, over] = [hold(step), held()];
    return () => {
      over();
      release();
    };
  };
  return Object.assign({ ...step }, { [HOLD]: watched });
}

/**
 * Steps and checkpoints of one attempt at the executor. Records that the server has not acknowledged take no more memory
 * than the limits of an execution allow: all its steps, and two checkpoints.
 */
export class AttemptSteps {
  readonly step: Steps & { readonly [HOLD]: () => () => void } = {
    run: (name, fn, options = {}) => unawaited(this.#run(name, fn, options)) as Promise<never>,
    sleep: (name, duration) => unawaited(this.#sleep(name, (step) => durationMs(step, duration))),
    sleepUntil: (name, date) => unawaited(this.#sleep(name, (step) => delayUntil(step, date, this.#runtime))),
    waitForSignal: (names, options = {}) => unawaited(this.#waitForSignal(names, options)) as Promise<never>,
    key: (name) => `${this.#attempt.assignment.executionId}/${stepName(name)}`,
    [HOLD]: () => this.hold(),
  };
  readonly checkpoint: Checkpoint;
  readonly #attempt: SteppingAttempt;
  readonly #outbox: StepOutbox;
  readonly #runtime: Runtime;
  readonly #checkpoints: Checkpoints;
  readonly #waits: Waits;
  /** Results that earlier attempts recorded, as JSON text by name. */
  readonly #recorded = new Map<string, string>();
  /** Waits for which earlier attempts suspended, by name. */
  readonly #earlierWaits = new Map<string, Extract<StepRecord, { kind: "WAIT" }>>();
  /** Signals that no step has consumed, in the order in which they were accepted. */
  readonly #signals: Extract<StepRecord, { kind: "SIGNAL" }>[] = [];
  /** Names that this attempt has used. */
  readonly #used = new Set<string>();
  /** Records that the server has not acknowledged, by number. */
  readonly #waiting = new Map<number, Deferred<void>>();
  /** Number of calls that keep the attempt from being suspended. */
  #busy = 0;
  /** Number of steps that earlier attempts recorded or waited for. */
  #count = 0;
  /** Names of steps that this attempt has added: on their way, running, waiting, or recorded. */
  readonly #reserved = new Set<string>();
  #bytes = 0;
  #number = 0;

  /** @param suspend tells the handler to stop, for the waits that are pending */
  constructor(attempt: SteppingAttempt, { outbox, runtime }: Parts, suspend: () => void) {
    this.#attempt = attempt;
    this.#outbox = outbox;
    this.#runtime = runtime;
    const last = this.#takeRecords(attempt.assignment.recorded ?? []);
    this.#checkpoints = new Checkpoints(last, async (data) => this.#send("CHECKPOINT", "", data));
    this.checkpoint = this.#checkpoints.asFunction();
    this.#waits = new Waits({ runtime, suspend, isIdle: () => this.#isIdle() });
  }

  /** @returns newest checkpoint as JSON text; empty: none */
  #takeRecords(records: readonly StepRecord[]): string {
    let last = "";
    for (const record of records) {
      if (record.kind === "WAIT") this.#earlierWaits.set(record.name, record);
      else if (record.kind === "SIGNAL") this.#signals.push(record);
      else if (record.kind === "CHECKPOINT") last = record.data;
      else this.#recorded.set(record.name, record.data);
    }
    this.#count = new Set([...this.#recorded.keys(), ...this.#earlierWaits.keys()]).size;
    for (const data of this.#recorded.values()) this.#bytes += Buffer.byteLength(data);
    return last;
  }

  /** Records that the server has stored a record. */
  acknowledged(number: number): void {
    this.#waiting.get(number)?.resolve();
    this.#waiting.delete(number);
    this.#waits.look();
  }

  /** Rejects everything that waits: the connected server is too old. */
  unsupported(): void {
    for (const waiting of this.#takeWaiting()) waiting.reject(this.#tooOld());
    this.#waits.reject(() => this.#tooOld(), false);
  }

  /** Rejects the steps that wait: the attempt is told to stop. Other steps may end within the grace time. */
  abort(): void {
    this.#waits.reject(() => this.#aborted(), this.#attempt.abortCause === "SUSPENDED");
  }

  /** Waits for which the attempt is suspended. */
  waits(): WaitReport[] {
    return this.#waits.report();
  }

  /** Sends what is still to be sent ahead of the attempt's result, and rejects calls that wait. */
  finish(): void {
    this.#checkpoints.flush();
    this.drop();
  }

  /** Rejects everything that waits: the attempt has ended, or the server no longer wants it. */
  drop(): void {
    for (const waiting of this.#takeWaiting()) waiting.reject(this.#aborted());
    this.#waits.reject(() => this.#aborted(), false);
  }

  /** Keeps the attempt from being suspended, until the returned function is called. */
  hold(): () => void {
    this.#busy++;
    return () => {
      this.#busy--;
      this.#waits.look();
    };
  }

  #isIdle(): boolean {
    return this.#busy === 0 && this.#waiting.size === 0;
  }

  async #run(name: StepName, fn: () => unknown, options: StepOptions): Promise<unknown> {
    const text = stepName(name);
    const retries = checkRun(text, fn, options);
    this.#use(text);
    const recorded = this.#recorded.get(text);
    if (recorded !== undefined) return valueOf(recorded);
    this.#reserve(text);
    const release = this.hold();
    try {
      const data = await this.#perform(text, fn, retries);
      await this.#store(text, data);
      return valueOf(data);
    } catch (error) {
      this.#release(text);
      throw error;
    } finally {
      release();
    }
  }

  async #sleep(name: StepName, delayOf: (step: string) => number): Promise<void> {
    const text = stepName(name);
    const delayMs = delayOf(text);
    this.#use(text);
    if (this.#recorded.has(text)) return;
    const nowMs = this.#runtime.monotonicMs();
    const untilMs = this.#earlierWaits.get(text)?.untilMs ?? nowMs + delayMs;
    if (untilMs <= nowMs) return;
    if (delayMs < SHORT_MS) return this.#wait(text, [], untilMs);
    this.#reserve(text);
    await this.#wait(text, [], untilMs);
    // The sleep has ended beside another step, and a later attempt must not begin it again.
    if (!this.#earlierWaits.has(text)) await this.#record(text, "");
  }

  async #waitForSignal(names: string | readonly string[], options: WaitForSignalOptions): Promise<unknown> {
    const { name, signals, timeoutMs } = signalWait(names, options);
    this.#use(name);
    const recorded = this.#recorded.get(name);
    if (recorded !== undefined) return valueOf(recorded);
    this.#reserve(name);
    const index = this.#signals.findIndex((signal) => signals.includes(signal.name));
    const [signal] = index < 0 ? [] : this.#signals.splice(index, 1);
    // A signal that came in time counts, even if the attempt runs after the end of the wait.
    if (signal !== undefined) return this.#record(name, receivedData(signal), signal.signalId);
    const earlier = this.#earlierWaits.get(name);
    if (earlier?.isOver) return this.#record(name, "null");
    // Only the next attempt knows which signals have come meanwhile, so the attempt suspends even if the wait is over.
    return this.#wait(name, signals, earlier?.untilMs ?? this.#runtime.monotonicMs() + timeoutMs);
  }

  /** Resolves when the time of a sleep is over while the attempt runs. A wait for signals ends with the attempt. */
  async #wait(name: string, signals: readonly string[], untilMs: number): Promise<void> {
    try {
      if (this.#outbox.tooOld !== null) throw this.#tooOld();
      if (this.#attempt.abortCause !== null) throw this.#aborted();
      await this.#waits.add({ name, signals, untilMs, isRecorded: this.#earlierWaits.has(name) });
    } catch (error) {
      this.#release(name);
      throw error;
    }
  }

  /** Stores the result of a step that has waited. */
  async #record(name: string, data: string, signalId?: string): Promise<unknown> {
    const release = this.hold();
    try {
      await this.#store(name, data, signalId);
      return valueOf(data);
    } finally {
      release();
    }
  }

  /** Marks the name as used. @throws the attempt is over or suspended, or has used the name before */
  #use(name: string): void {
    this.#checkPhase();
    if (this.#attempt.abortCause === "SUSPENDED") throw this.#aborted();
    if (this.#used.has(name)) {
      const advice = 'give each step its own name, in a loop a list such as ["charge", index]';
      throw new StepError("DuplicateStep", `step ${JSON.stringify(name)} runs twice in one attempt: ${advice}`);
    }
    this.#used.add(name);
  }

  /** Takes a place among the steps of the execution, unless an earlier attempt has. */
  #reserve(name: string): void {
    if (this.#outbox.tooOld !== null) throw this.#tooOld();
    if (this.#earlierWaits.has(name)) return;
    if (this.#count + this.#reserved.size >= STEPS_MAX) {
      const advice = "keep the progress of many items in ctx.checkpoint";
      throw new StepError("StepTooLarge", `an execution may have ${STEPS_MAX} steps, and this one has them: ${advice}`);
    }
    this.#reserved.add(name);
  }

  #release(name: string): void {
    this.#reserved.delete(name);
  }

  /** @returns result as JSON text */
  async #perform(name: string, fn: () => unknown, retries: number): Promise<string> {
    const attempt = this.#attempt;
    const value = await runWithRetries(fn, retries, {
      runtime: this.#runtime,
      get signal() {
        return attempt.signal;
      },
      check: () => this.#checkPhase(),
    });
    return resultData(name, value);
  }

  async #store(name: string, data: string, signalId?: string): Promise<void> {
    const bytes = Buffer.byteLength(data);
    if (this.#bytes + bytes > STEPS_MAX_BYTES) {
      const sum = `the execution's steps and the result of step ${JSON.stringify(name)} are ${this.#bytes + bytes} bytes of JSON`;
      throw new StepError("StepTooLarge", `${sum}; ${STEPS_MAX_BYTES} may be`);
    }
    const stored = this.#send("RESULT", name, data, signalId);
    this.#bytes += bytes;
    try {
      await stored;
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    }
  }

  /** Resolves when the server has stored the record. */
  #send(kind: StepKind, name: string, data: string, signalId?: string): Promise<void> {
    this.#checkPhase();
    if (this.#outbox.tooOld !== null) throw this.#tooOld();
    const { executionId, attempt } = this.#attempt.assignment;
    const number = ++this.#number;
    const stored = deferred<void>();
    this.#waiting.set(number, stored);
    const step = { executionId, attempt, number, kind, name, data };
    this.#outbox.add(signalId === undefined ? step : { ...step, signalId });
    return stored.promise;
  }

  #takeWaiting(): Deferred<void>[] {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }

  #checkPhase(): void {
    if (this.#attempt.phase !== "RUNNING") throw this.#aborted();
  }

  #aborted(): AttemptAborted {
    return new AttemptAborted(this.#attempt.fence, this.#attempt.abortCause ?? "ENDED");
  }

  #tooOld(): StepError {
    const message = `the server ${this.#outbox.tooOld} cannot store steps: its release is older than this worker's. Upgrade the server`;
    return new StepError("StepsUnsupported", message);
  }
}

/** A handler may drop the promise, so its rejection must not end the process. */
export function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
