import { setTimeout as sleep } from "node:timers/promises";
import type { ReceivedSignal, TaskContext } from "@mainspring/sdk";
import { monotonicMs } from "../../clock.ts";
import type { StepEvent, WorkerEvent } from "../../history/events.ts";
import type { HistoryFile } from "../../history/history-file.ts";
import type { WalkPlan } from "../work.ts";

/** Signals that every walk waits for: the answer once, the receipt twice. */
export const SIGNALS = ["answer", "receipt", "receipt"] as const;
/** Step that waits for the answer for a short time. */
export const FIRST_ANSWER = "first answer";

/** Longest wait for a signal that certainly comes, in milliseconds: a wait that takes longer ends in vain, for the judge. */
const CERTAIN_WITHIN_MS = 1_800_000;
const CHECKPOINTS = { first: 3, last: 6 };

type Said<E> = E extends StepEvent ? Omit<E, "at" | "pid" | "executionId" | "attempt"> : never;

/** One attempt of a handler that uses every kind of durable record, and writes down what its steps do and return. */
export class Walk {
  readonly #plan: WalkPlan;
  readonly #ctx: TaskContext;
  readonly #history: HistoryFile<WorkerEvent>;
  #checkpoint: number;

  constructor(plan: WalkPlan, ctx: TaskContext, history: HistoryFile<WorkerEvent>) {
    this.#plan = plan;
    this.#ctx = ctx;
    this.#history = history;
    this.#checkpoint = (ctx.checkpoint.last as { to: number } | undefined)?.to ?? 0;
    this.#say({ event: "CHECKPOINT_READ", value: this.#checkpoint });
  }

  /** @returns values of all steps, sorted */
  async run(): Promise<string[]> {
    const { sleepMs, answerWithinMs, failTimes } = this.#plan;
    const known: (string | null)[] = [await this.#effect("charge")];
    await this.#goOnTo(CHECKPOINTS.first);
    await this.#sleep("rest", sleepMs);
    known.push(await this.#effect("ship"));
    if (this.#ctx.failures < failTimes) throw new Error("fails once, with some of its steps recorded");
    const answer = await this.#signal(FIRST_ANSWER, "answer", answerWithinMs);
    known.push(answer ?? (await this.#signal("late answer", "answer", CERTAIN_WITHIN_MS)));
    known.push(await this.#effect("thank"));
    await this.#goOnTo(CHECKPOINTS.last);
    for (const step of ["first receipt", "second receipt"]) {
      known.push(await this.#signal(step, "receipt", CERTAIN_WITHIN_MS));
    }
    known.push(...(await Promise.all([this.#effect("file"), this.#effect("mail")])));
    return known.map(String).sort();
  }

  async #effect(step: string): Promise<string | null> {
    const value = await this.#ctx.step.run(step, async () => {
      this.#say({ event: "EFFECT_BEGAN", step });
      await sleep(this.#plan.effectMs);
      const made = `${step} by attempt ${this.#ctx.attempt} in process ${process.pid}`;
      this.#say({ event: "EFFECT_ENDED", step, value: made });
      return made;
    });
    return this.#known(step, value);
  }

  async #sleep(step: string, forMs: number): Promise<void> {
    this.#say({ event: "WAIT_BEGAN", step, signal: null, forMs });
    await this.#ctx.step.sleep(step, forMs);
    this.#known(step, null);
  }

  async #signal(step: string, signal: string, forMs: number): Promise<string | null> {
    this.#say({ event: "WAIT_BEGAN", step, signal, forMs });
    const received = await this.#ctx.step.waitForSignal<string>(signal, { name: step, timeoutMs: forMs });
    return this.#known(step, received === null ? null : receivedValue(received));
  }

  /** Writes checkpoints up to this one. The handler awaits every other one, so that newer ones replace those that wait. */
  async #goOnTo(last: number): Promise<void> {
    while (this.#checkpoint < last) {
      const value = ++this.#checkpoint;
      this.#say({ event: "CHECKPOINT_ASKED", value });
      const stored = this.#ctx.checkpoint({ to: value }).then(() => this.#say({ event: "CHECKPOINT_KNOWN", value }));
      stored.catch(() => undefined);
      if (value % 2 === 1) await stored;
    }
  }

  #known(step: string, value: string | null): string | null {
    this.#say({ event: "STEP_KNOWN", step, value });
    return value;
  }

  #say(said: Said<StepEvent>): void {
    const { executionId, attempt } = this.#ctx;
    this.#history.write({ at: monotonicMs(), pid: process.pid, executionId, attempt, ...said } as StepEvent);
  }
}

/** A signal in a word. */
export function receivedValue({ name, id, data }: Pick<ReceivedSignal<string>, "name" | "id" | "data">): string {
  return `${name} ${id} ${data}`;
}
