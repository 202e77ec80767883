import { MainspringError, type SubmittedJob } from "@mainspring/sdk";
import { monotonicMs, sleep } from "../clock.ts";
import { digestOf } from "../history/digest.ts";
import { decision } from "./decision.ts";
import { type Order, randomOrder } from "./orders.ts";
import type { SubmitterParts } from "./submitters.ts";
import { isTransient, untilAnswered } from "./until-answered.ts";
import { submitWorkflow, watchWorkflow } from "./workflows/submit-workflow.ts";
import { randomWorkflow } from "./workflows/workflow-order.ts";

/** Pause of a customer between two orders, in milliseconds. */
const REST_MS = { least: 50, most: 350 };
const BATCHES = 0.04;
const WORKFLOWS = 0.05;
const WITHOUT_KEY = 0.05;
const REPEATS = 0.05;
/** Share of jobs with a key whose key another job repeats, which the server must refuse. */
const STOLEN_KEYS = 0.03;
/** Pause before a cancellation that is not in the store is asked for again, in milliseconds. */
const CANCEL_AGAIN_MS = 1_000;
const WATCHES = 0.15;
/**
 * Number of open errands at which a customer waits for one before the next order, so that orders do not pile up during
 * a run.
 */
const ERRANDS_MAX = 8;

type Answer = Pick<SubmittedJob, "executionId" | "jobId" | "deduplicated" | "request">;

/** Submits one order after the other, alone or in batches, and records its requests and their answers. */
export class Customer {
  readonly #parts: SubmitterParts;
  /** Errands besides the orders: cancellations, repeats, watching. */
  readonly #errands = new Set<Promise<void>>();
  /** Orders whose key another job repeats once they are known. */
  readonly #toSteal = new Set<Order>();
  #orders = 0;

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
  }

  /** @returns promise that resolves when the customer was told to leave and all its requests are answered */
  async work(leaving: AbortSignal): Promise<void> {
    const { random } = this.#parts;
    while (!leaving.aborted) {
      await this.#next();
      await sleep(random.between(REST_MS.least, REST_MS.most));
      while (this.#errands.size >= ERRANDS_MAX) await Promise.race(this.#errands);
    }
    await Promise.all(this.#errands);
  }

  #next(): Promise<void> {
    const { random } = this.#parts;
    if (random.chance(BATCHES)) return this.#batch(random.between(5, 20));
    return random.chance(WORKFLOWS) ? this.#workflow() : this.#single();
  }

  #order(): Order {
    const { random, keyPrefix } = this.#parts;
    return randomOrder(`${keyPrefix}-${this.#orders++}`, random);
  }

  async #single(): Promise<void> {
    const { client, random } = this.#parts;
    const order = this.#order();
    const { key, request } = order;
    // Without a key, the order may take effect once or not at all, and must not be repeated.
    const idempotent = !random.chance(WITHOUT_KEY);
    this.#intend(order, idempotent);
    const submit = () => client.submit(request, idempotent ? { idempotencyKey: key } : {});
    if (idempotent && random.chance(STOLEN_KEYS)) this.#toSteal.add(order);
    try {
      const answer = await (idempotent ? untilAnswered(submit) : submit());
      this.#answered(order, answer);
      if (idempotent && random.chance(REPEATS)) {
        this.#later(random.between(0, 5_000), async () => this.#answered(order, await untilAnswered(submit), false));
      }
    } catch (error) {
      if (idempotent || !isTransient(error)) this.#refused(key, error);
    }
  }

  async #workflow(): Promise<void> {
    const { random, keyPrefix } = this.#parts;
    const order = randomWorkflow(`${keyPrefix}-${this.#orders++}`, random);
    const idempotent = !random.chance(WITHOUT_KEY);
    const workflowId = await submitWorkflow(this.#parts, order, idempotent);
    if (workflowId === null) return;
    if (idempotent && random.chance(REPEATS)) {
      this.#later(random.between(0, 5_000), async () => void (await submitWorkflow(this.#parts, order, "REPEAT")));
    }
    if (random.chance(WATCHES)) this.#later(0, () => watchWorkflow(this.#parts, workflowId));
  }

  async #batch(size: number): Promise<void> {
    const { client } = this.#parts;
    const orders = Array.from({ length: size }, () => this.#order());
    for (const order of orders) this.#intend(order, true);
    const requests = orders.map(({ request }) => request);
    const idempotencyKey = `batch-${orders[0]?.key}`;
    try {
      const items = await untilAnswered(() => client.submitBatch(requests, { idempotencyKey }));
      for (const [index, item] of items.entries()) {
        const order = orders[index] as Order;
        if ("error" in item) this.#refused(order.key, item.error.title);
        else this.#answered(order, item);
      }
    } catch (error) {
      for (const { key } of orders) this.#refused(key, error);
    }
  }

  #intend({ at, key, kind, expected }: Order, idempotent: boolean): void {
    this.#parts.history.write({ event: "INTENDED", at, key, kind, idempotent, expected });
  }

  #answered(order: Order, answer: Answer, isNew = true): void {
    const { request: position } = answer;
    if (position === undefined) return this.#known(order, answer, isNew);
    const { history } = this.#parts;
    history.write({ event: "RECORD_ACCEPTED", at: monotonicMs(), key: order.key, position, isWrong: false });
    this.#later(0, async () => {
      try {
        this.#known(order, await decision(this.#parts, position), isNew);
      } catch (error) {
        this.#refused(order.key, error);
      }
    });
  }

  #known(order: Order, { executionId, jobId, deduplicated = false }: Answer, isNew: boolean): void {
    const { history, random } = this.#parts;
    history.write({ event: "ANSWERED", at: monotonicMs(), key: order.key, executionId, jobId, deduplicated });
    if (!isNew) return;
    if (order.cancelAfterMs !== null) this.#later(order.cancelAfterMs, () => this.#cancel(executionId));
    if (random.chance(WATCHES)) this.#later(0, () => this.#watch(executionId));
    // Records of different partitions are taken in side by side, so the other job must not come before the first one is decided.
    if (this.#toSteal.delete(order)) this.#later(0, () => this.#stealKey(order));
  }

  /** Submits another job with the idempotency key of an order. A server that accepts it at first must refuse its record. */
  async #stealKey({ key, request }: Order): Promise<void> {
    const { client, history } = this.#parts;
    const other = { ...request, name: `${request.name}, but another one` };
    try {
      const { request: position } = await untilAnswered(() => client.submit(other, { idempotencyKey: key }));
      if (position === undefined) return this.#refused(key, "another job with its idempotency key was accepted");
      history.write({ event: "RECORD_ACCEPTED", at: monotonicMs(), key, position, isWrong: true });
    } catch (error) {
      // The server must refuse it.
      if (!(error instanceof MainspringError)) throw error;
    }
  }

  #refused(key: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#parts.history.write({ event: "REFUSED", at: monotonicMs(), key, message });
  }

  async #cancel(executionId: string): Promise<void> {
    const { client, history } = this.#parts;
    history.write({ event: "CANCEL_ASKED", at: monotonicMs(), executionId });
    const cancel = () =>
      untilAnswered(() => client.cancelExecution(executionId)).catch((error: { code?: string }) => {
        if (error.code === "CONFLICT") return "FINAL" as const;
        throw error;
      });
    let answer = await cancel();
    // Redis keeps such a request until the store answers, and may lose it.
    for (; answer === "NOT_DURABLE"; answer = await cancel()) await sleep(CANCEL_AGAIN_MS);
    history.write({ event: "CANCEL_ANSWERED", at: monotonicMs(), executionId, answer });
  }

  async #watch(executionId: string): Promise<void> {
    const { client, history } = this.#parts;
    const { state, result } = await untilAnswered(() => client.waitForExecution(executionId));
    history.write({ event: "SEEN_FINAL", at: monotonicMs(), executionId, state, resultSha: digestOf(result) });
  }

  #later(delayMs: number, run: () => Promise<void>): void {
    const errand: Promise<void> = sleep(delayMs)
      .then(run)
      .finally(() => this.#errands.delete(errand));
    this.#errands.add(errand);
  }
}
