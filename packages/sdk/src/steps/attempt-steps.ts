import { type Deferred, deferred } from "../deferred.ts";
import { type AbortCause, AttemptAborted } from "../handlers/context.ts";
import type { Runtime } from "../runtime.ts";
import type { Assignment, StepKind } from "../session/work.ts";
import { Checkpoints } from "./checkpoints.ts";
import { runWithRetries } from "./run-step.ts";
import type { Checkpoint, StepOptions, Steps } from "./step-context.ts";
import { checkRun, resultData, STEPS_MAX, STEPS_MAX_BYTES, stepName, valueOf } from "./step-data.ts";
import { StepError } from "./step-error.ts";
import type { StepOutbox } from "./step-outbox.ts";

/** Attempt that the steps belong to. */
interface SteppingAttempt {
  readonly assignment: Assignment;
  readonly phase: "WAITING" | "RUNNING" | "OVER";
  readonly fence: string;
  readonly signal: AbortSignal;
  readonly abortCause: AbortCause | null;
}

/**
 * Steps and checkpoints of one attempt at the executor. Records that the server has not acknowledged take no more memory
 * than the limits of an execution allow: all its steps, and two checkpoints.
 */
export class AttemptSteps {
  readonly step: Steps = {
    run: (name, fn, options = {}) => {
      const result = this.#run(name, fn, options);
      // A handler may drop the promise, so its rejection must not end the process.
      result.catch(() => undefined);
      return result as Promise<never>;
    },
    key: (name) => `${this.#attempt.assignment.executionId}/${stepName(name)}`,
  };
  readonly checkpoint: Checkpoint;
  readonly #attempt: SteppingAttempt;
  readonly #outbox: StepOutbox;
  readonly #runtime: Runtime;
  readonly #checkpoints: Checkpoints;
  /** Results that earlier attempts recorded, as JSON text by name. */
  readonly #recorded = new Map<string, string>();
  /** Names that this attempt has used. */
  readonly #used = new Set<string>();
  /** Records that the server has not acknowledged, by number. */
  readonly #waiting = new Map<number, Deferred<void>>();
  /** Number of steps of the execution: recorded, on their way, or running. */
  #count = 0;
  #bytes = 0;
  #number = 0;

  constructor(attempt: SteppingAttempt, outbox: StepOutbox, runtime: Runtime) {
    this.#attempt = attempt;
    this.#outbox = outbox;
    this.#runtime = runtime;
    let last = "";
    for (const { kind, name, data } of attempt.assignment.recorded ?? []) {
      if (kind === "CHECKPOINT") last = data;
      else this.#recorded.set(name, data);
    }
    this.#count = this.#recorded.size;
    for (const data of this.#recorded.values()) this.#bytes += Buffer.byteLength(data);
    this.#checkpoints = new Checkpoints(last, async (data) => this.#send("CHECKPOINT", "", data));
    this.checkpoint = this.#checkpoints.asFunction();
  }

  /** Records that the server has stored a record. */
  acknowledged(number: number): void {
    this.#waiting.get(number)?.resolve();
    this.#waiting.delete(number);
  }

  /** Rejects everything that waits: the connected server is too old. */
  unsupported(): void {
    for (const waiting of this.#takeWaiting()) waiting.reject(this.#tooOld());
  }

  /** Sends what is still to be sent ahead of the attempt's result, and rejects calls that wait. */
  finish(): void {
    this.#checkpoints.flush();
    this.drop();
  }

  /** Rejects everything that waits: the server no longer wants the attempt. */
  drop(): void {
    for (const waiting of this.#takeWaiting()) waiting.reject(this.#aborted());
  }

  async #run(name: Parameters<Steps["run"]>[0], fn: () => unknown, options: StepOptions): Promise<unknown> {
    const text = stepName(name);
    const retries = checkRun(text, fn, options);
    this.#checkPhase();
    this.#use(text);
    const recorded = this.#recorded.get(text);
    if (recorded !== undefined) return valueOf(recorded);
    this.#reserve();
    try {
      const data = await this.#perform(text, fn, retries);
      await this.#store(text, data);
      return valueOf(data);
    } catch (error) {
      this.#count--;
      throw error;
    }
  }

  #use(name: string): void {
    if (this.#used.has(name)) {
      const advice = 'give each step its own name, in a loop a list such as ["charge", index]';
      throw new StepError("DuplicateStep", `step ${JSON.stringify(name)} runs twice in one attempt: ${advice}`);
    }
    this.#used.add(name);
  }

  #reserve(): void {
    if (this.#outbox.tooOld !== null) throw this.#tooOld();
    if (this.#count >= STEPS_MAX) {
      const advice = "keep the progress of many items in ctx.checkpoint";
      throw new StepError("StepTooLarge", `an execution may have ${STEPS_MAX} steps, and this one has them: ${advice}`);
    }
    this.#count++;
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

  async #store(name: string, data: string): Promise<void> {
    const bytes = Buffer.byteLength(data);
    if (this.#bytes + bytes > STEPS_MAX_BYTES) {
      const sum = `the execution's steps and the result of step ${JSON.stringify(name)} are ${this.#bytes + bytes} bytes of JSON`;
      throw new StepError("StepTooLarge", `${sum}; ${STEPS_MAX_BYTES} may be`);
    }
    const stored = this.#send("RESULT", name, data);
    this.#bytes += bytes;
    try {
      await stored;
    } catch (error) {
      this.#bytes -= bytes;
      throw error;
    }
  }

  /** Resolves when the server has stored the record. */
  #send(kind: StepKind, name: string, data: string): Promise<void> {
    this.#checkPhase();
    if (this.#outbox.tooOld !== null) throw this.#tooOld();
    const { executionId, attempt } = this.#attempt.assignment;
    const number = ++this.#number;
    const stored = deferred<void>();
    this.#waiting.set(number, stored);
    this.#outbox.add({ executionId, attempt, number, kind, name, data });
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
