import { setTimeout as sleep } from "node:timers/promises";
import type { SubmittedJob } from "@mainspring/sdk";
import { monotonicMs } from "../../clock.ts";
import { digestOf } from "../../history/digest.ts";
import { decision } from "../decision.ts";
import { randomOrder } from "../orders.ts";
import type { SubmitterParts } from "../submitters.ts";
import { untilAnswered } from "../until-answered.ts";
import { STEPPED } from "./stepped.ts";
import { FIRST_ANSWER, receivedValue, SIGNALS } from "./walk.ts";

/** Time from the acceptance of a job to a signal, in milliseconds: before, within or after the wait for the signal. */
const SIGNAL_AFTER_MS = { least: 0, most: 25_000 };
/**
 * Share of answers that are sent once a walk has waited for them in vain, so that signals come after their wait on a slow
 * machine too, whose walks get to the wait later than most signals.
 */
const LATE = 0.2;
const LOOKS_EVERY_MS = 500;
/** Share of signals that are sent again after their answer. */
const REPEATS = 0.2;
const REPEAT_AFTER_MS = { least: 0, most: 8_000 };

/** Submits one stepped job after the other, sends each its signals, and waits for its end. */
export class Signaller {
  readonly #parts: SubmitterParts;

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
  }

  /** @returns promise that resolves when the signaller was told to leave and its last job is final */
  async work(leaving: AbortSignal): Promise<void> {
    for (let job = 0; !leaving.aborted; job++) await this.#job(`${this.#parts.keyPrefix}-${job}`, leaving);
  }

  async #job(key: string, leaving: AbortSignal): Promise<void> {
    const { client, history, random } = this.#parts;
    const { at, kind, request, expected } = randomOrder(key, random, STEPPED);
    history.write({ event: "INTENDED", at, key, kind, idempotent: true, expected });
    try {
      const answer = await untilAnswered(() => client.submit(request, { idempotencyKey: key }));
      const { executionId, jobId } = await this.#known(key, answer);
      history.write({ event: "ANSWERED", at: monotonicMs(), key, executionId, jobId, deduplicated: false });
      await Promise.all(SIGNALS.map((name, index) => this.#signal(executionId, name, `${key}-${index}`, leaving)));
      const { state, result } = await untilAnswered(() => client.waitForExecution(executionId));
      history.write({ event: "SEEN_FINAL", at: monotonicMs(), executionId, state, resultSha: digestOf(result) });
    } catch (error) {
      history.write({ event: "REFUSED", at: monotonicMs(), key, message: (error as Error).message });
    }
  }

  /** Waits for the decision of a record where the server has accepted one. */
  async #known(key: string, answer: SubmittedJob): Promise<Pick<SubmittedJob, "executionId" | "jobId">> {
    const { request: position } = answer;
    if (position === undefined) return answer;
    this.#parts.history.write({ event: "RECORD_ACCEPTED", at: monotonicMs(), key, position, isWrong: false });
    return await decision(this.#parts, position);
  }

  async #signal(executionId: string, name: string, id: string, leaving: AbortSignal): Promise<void> {
    const { random } = this.#parts;
    if (name === "answer" && random.chance(LATE)) await this.#vainWait(executionId, leaving);
    else await unless(leaving, random.between(SIGNAL_AFTER_MS.least, SIGNAL_AFTER_MS.most));
    await this.#send(executionId, name, id);
    if (!random.chance(REPEATS)) return;
    await unless(leaving, random.between(REPEAT_AFTER_MS.least, REPEAT_AFTER_MS.most));
    await this.#send(executionId, name, id);
  }

  /** Resolves once the walk has waited for its answer in vain, or when the signaller leaves. */
  async #vainWait(executionId: string, leaving: AbortSignal): Promise<void> {
    const { client } = this.#parts;
    while (!leaving.aborted) {
      const { steps } = await untilAnswered(() => client.getExecutionSteps(executionId));
      if (steps.some(({ name }) => name === FIRST_ANSWER)) return;
      await unless(leaving, LOOKS_EVERY_MS);
    }
  }

  async #send(executionId: string, name: string, id: string): Promise<void> {
    const { client, history } = this.#parts;
    const data = `for ${executionId}`;
    const value = receivedValue({ name, id, data });
    history.write({ event: "SIGNAL_ASKED", at: monotonicMs(), executionId, name, value });
    try {
      const { isRepeated } = await untilAnswered(() => client.signalExecution(executionId, name, data, { id }));
      history.write({ event: "SIGNAL_ANSWERED", at: monotonicMs(), executionId, name, value, isRepeated });
    } catch (error) {
      const { message } = error as Error;
      history.write({ event: "SIGNAL_REFUSED", at: monotonicMs(), executionId, name, value, message });
    }
  }
}

/** Resolves after the delay, or at once when the signaller leaves. */
async function unless(leaving: AbortSignal, delayMs: number): Promise<void> {
  await sleep(delayMs, undefined, { signal: leaving }).catch(() => undefined);
}
