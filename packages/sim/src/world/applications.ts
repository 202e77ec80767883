import type { StoreData } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import { EPOCH_MS } from "../sim-process.ts";
import type { PlannedPart } from "./changes.ts";
import { someDefinition } from "./some-definition.ts";

/** Remainder by REQUESTS_EVERY of the seeds whose applications submit in transactions of their own, and the first of them. */
const REQUESTS_EVERY = 20;
const REQUESTS = 1;
const REQUESTS_FROM = 301;
/** Longest time from a request to the end of its transaction, in simulated milliseconds. */
const TRANSACTION_MAX_MS = 20_000;

/** Whether applications of a seed submit in transactions of their own. */
export function hasRequests(seed: number): boolean {
  return seed % REQUESTS_EVERY === REQUESTS && seed >= REQUESTS_FROM;
}

/**
 * Applications that share the store, and submit in transactions of their own: short and long ones, some of them with several requests.
 * A tenth is rolled back. Some requests are wrong, and some have keys that other requests have, too.
 */
export class Applications {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #data: StoreData;
  #made = 0;

  constructor(clock: VirtualClock, random: SeededRandom, data: StoreData) {
    this.#clock = clock;
    this.#random = random;
    this.#data = data;
  }

  /** Plans transactions within the time. @param only part that remains: all of them end at its time */
  plan(transactions: number, withinMs: number, { untilMs }: PlannedPart): void {
    for (let i = 0; i < transactions; i++) {
      const atMs = this.#random.next() * withinMs;
      const isLong = this.#random.chance(0.2);
      const forMs = isLong ? this.#random.between(0, TRANSACTION_MAX_MS) : this.#random.between(0, 20);
      const requests = Array.from({ length: this.#random.chance(0.1) ? 50 : 1 }, () => this.#request(atMs));
      const isRolledBack = this.#random.chance(0.1);
      if (!isRolledBack && atMs + forMs <= untilMs) this.#clock.plan(atMs + forMs, () => this.#commit(requests));
    }
  }

  #commit(requests: readonly SomeRequest[]): void {
    for (const request of requests) {
      this.#data.requests.add(request);
      this.#data.tell({ kind: "REQUEST_ADDED", at: this.#data.now(), id: request.id });
    }
  }

  /** A request as its transaction writes it, long before the commit perhaps. */
  #request(atMs: number) {
    const random = this.#random;
    const number = ++this.#made;
    const { job, payload } = someDefinition(random, `request-${number}`, {
      ...(random.chance(0.05) && { uniqueKey: `request-${random.between(1, 5)}` }),
    });
    const text = payload === null ? undefined : (JSON.parse(Buffer.from(payload).toString()) as unknown);
    const wrong = random.chance(0.1) && { priority: 11 };
    const createdAt = Math.floor(EPOCH_MS + atMs);
    const time = createdAt.toString(16).padStart(12, "0");
    const place = number.toString(16).padStart(6, "0");
    return {
      id: `${time.slice(0, 8)}-${time.slice(8)}-7${place.slice(0, 3)}-8${place.slice(3)}-0e0e0e0e0e0e`,
      tenant: "default",
      createdAt,
      body: JSON.stringify({ ...job, ...(text !== undefined && { payload: text }), ...wrong }),
      idempotencyKey: random.chance(0.1) ? `request-key-${random.between(1, 20)}` : null,
      traceparent: null,
    };
  }
}

type SomeRequest = Parameters<StoreData["requests"]["add"]>[0];
