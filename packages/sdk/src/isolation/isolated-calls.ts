import { type Deferred, deferred } from "../deferred.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import { endingOfThrow } from "../handlers/outcome.ts";
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
        return this.#take(call)?.reject(THREW_THERE);
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

  #answer(call: number, work: () => Promise<unknown>): void {
    work().then(
      (value) => this.#send({ kind: "CALL_DONE", call, value }),
      (thrown: unknown) => {
        if (thrown === THREW_THERE) return;
        const cause = thrown instanceof AttemptAborted ? thrown.reason : null;
        this.#send({ kind: "CALL_FAILED", call, ending: endingOfThrow(thrown, null), cause });
      },
    );
  }
}
