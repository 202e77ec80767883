import { type Deferred, deferred } from "../deferred.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import { endingOfThrow } from "../handlers/outcome.ts";
import { hold } from "../steps/attempt-steps.ts";
import { valueOf } from "../steps/step-data.ts";
import type { FromIsolated, StepMessage, ToIsolated } from "./isolation-messages.ts";

/** Error of a step that threw in the process of its handler, which has the real error. */
const THREW_THERE = new Error("the step threw in the handler's process");

/** Worker's side of the steps and checkpoints of an isolated handler. */
export class IsolatedCalls {
  readonly #ctx: TaskContext;
  readonly #send: (message: ToIsolated) => void;
  /** Steps whose functions run in the handler's process, by call. */
  readonly #running = new Map<number, Deferred<string>>();
  /** Calls that have ended, until the handler has gone on after them: what it calls next may be on its way. */
  readonly #ended = new Map<number, () => void>();

  constructor(ctx: TaskContext, send: (message: ToIsolated) => void) {
    this.#ctx = ctx;
    this.#send = send;
  }

  hear(message: Extract<FromIsolated, StepMessage>): void {
    const { call } = message;
    switch (message.kind) {
      case "STEP":
        return this.#answer(call, async () =>
          this.#ctx.step.run(message.name, async () => valueOf(await this.#runThere(call))),
        );
      case "STEP_RAN":
        return this.#take(call)?.resolve(message.data);
      case "STEP_THREW":
        this.#hold(call);
        return this.#take(call)?.reject(THREW_THERE);
      case "SLEEP":
        return this.#answer(call, () => this.#ctx.step.sleep(message.name, message.delayMs));
      case "WAIT_FOR_SIGNAL": {
        const { name, signals, timeoutMs } = message;
        return this.#answer(call, () => this.#ctx.step.waitForSignal(signals, { name, timeoutMs }));
      }
      case "WENT_ON":
        this.#ended.get(call)?.();
        this.#ended.delete(call);
        return;
      case "CHECKPOINT":
        return this.#answer(call, async () => this.#ctx.checkpoint(valueOf(message.data)));
    }
  }

  #runThere(call: number): Promise<string> {
    const ran = deferred<string>();
    this.#running.set(call, ran);
    this.#send({ kind: "RUN_STEP", call });
    return ran.promise;
  }

  #take(call: number): Deferred<string> | undefined {
    const running = this.#running.get(call);
    this.#running.delete(call);
    return running;
  }

  /** Keeps the attempt from being suspended until the handler has gone on after the call. */
  #hold(call: number): void {
    if (!this.#ended.has(call)) this.#ended.set(call, hold(this.#ctx.step));
  }

  #answer(call: number, work: () => Promise<unknown>): void {
    work().then(
      (value) => {
        this.#hold(call);
        this.#send({ kind: "CALL_DONE", call, value });
      },
      (thrown: unknown) => {
        if (thrown === THREW_THERE) return;
        this.#hold(call);
        const cause = thrown instanceof AttemptAborted ? thrown.reason : null;
        this.#send({ kind: "CALL_FAILED", call, ending: endingOfThrow(thrown, null), cause });
      },
    );
  }
}
