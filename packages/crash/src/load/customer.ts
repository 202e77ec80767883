import type { Client } from "@mainspring/sdk";
import { monotonicMs, sleep } from "../clock.ts";
import type { Dice } from "../dice.ts";
import { digestOf } from "../history/digest.ts";
import type { ClientEvent } from "../history/events.ts";
import type { HistoryFile } from "../history/history-file.ts";
import { type Order, randomOrder } from "./orders.ts";
import { isTransient, untilAnswered } from "./until-answered.ts";

interface CustomerParts {
  client: Client;
  history: HistoryFile<ClientEvent>;
  dice: Dice;
  keyPrefix: string;
}

/** How long a customer rests between two orders. */
const REST_MS = { least: 50, most: 350 };
const BATCHES = 0.04;
const WITHOUT_KEY = 0.05;
const REPEATS = 0.05;
const WATCHES = 0.15;
/**
 * A customer with this many open errands waits for one of them before the next order, so that orders do not pile up
 * during a run.
 */
const ERRANDS_MAX = 8;

/** Submits one order after the other, alone or in batches, and writes down what it asked for and what it was told. */
export class Customer {
  readonly #parts: CustomerParts;
  /** Errands beside the orders: cancellations, repeats, watching. */
  readonly #errands = new Set<Promise<void>>();
  #orders = 0;

  constructor(parts: CustomerParts) {
    this.#parts = parts;
  }

  /** @returns when it was told to leave and all that it asked for was answered */
  async shop(leaving: AbortSignal): Promise<void> {
    const { dice } = this.#parts;
    while (!leaving.aborted) {
      await (dice.chance(BATCHES) ? this.#batch(dice.between(5, 20)) : this.#single());
      await sleep(dice.between(REST_MS.least, REST_MS.most));
      while (this.#errands.size >= ERRANDS_MAX) await Promise.race(this.#errands);
    }
    await Promise.all(this.#errands);
  }

  #order(): Order {
    const { dice, keyPrefix } = this.#parts;
    return randomOrder(`${keyPrefix}-${this.#orders++}`, dice);
  }

  async #single(): Promise<void> {
    const { client, dice } = this.#parts;
    const order = this.#order();
    const { key, request } = order;
    // Without a key it may take effect once or not at all, and nobody may ask again.
    const idempotent = !dice.chance(WITHOUT_KEY);
    this.#intend(order, idempotent);
    const submit = () => client.submit(request, idempotent ? { idempotencyKey: key } : {});
    try {
      const answer = await (idempotent ? untilAnswered(submit) : submit());
      this.#answered(order, answer);
      if (idempotent && dice.chance(REPEATS)) {
        this.#later(dice.between(0, 5_000), async () => this.#answered(order, await untilAnswered(submit), false));
      }
    } catch (error) {
      if (idempotent || !isTransient(error)) this.#refused(key, error);
    }
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

  #answered(order: Order, answer: { executionId: string; jobId: string; deduplicated?: boolean }, isNew = true): void {
    const { history, dice } = this.#parts;
    const { executionId, jobId, deduplicated = false } = answer;
    history.write({ event: "ANSWERED", at: monotonicMs(), key: order.key, executionId, jobId, deduplicated });
    if (!isNew) return;
    if (order.cancelAfterMs !== null) this.#later(order.cancelAfterMs, () => this.#cancel(executionId));
    if (dice.chance(WATCHES)) this.#later(0, () => this.#watch(executionId));
  }

  #refused(key: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#parts.history.write({ event: "REFUSED", at: monotonicMs(), key, message });
  }

  async #cancel(executionId: string): Promise<void> {
    const { client, history } = this.#parts;
    history.write({ event: "CANCEL_ASKED", at: monotonicMs(), executionId });
    const answer = await untilAnswered(() => client.cancelExecution(executionId)).catch((error: { code?: string }) => {
      if (error.code === "CONFLICT") return "FINAL" as const;
      throw error;
    });
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
