import { type StoreData, TENANT_DEFAULTS, tenantOf } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { SimServer } from "./sim-server.ts";
import type { Work } from "./sim-worker.ts";

/** Tenant with quotas. */
export const METERED = "metered";
/** Its executions that may wait. */
export const METERED_MAX = 25;
/** Tenant that may submit only so many jobs a second, and clients that want more. */
export const RATED = "rated";
export const RATED_PER_SEC = 0.5;
const RATED_FROM = 469;

/** Whether the tenants of a seed have one with a low rate of submits. Other seeds stay unchanged. */
export function hasRated(seed: number): boolean {
  return seed >= RATED_FROM;
}

/** Whether a tenant has quotas. */
export function isMetered(name: string): boolean {
  return name === METERED || name === RATED;
}

/** Mean interval of bursts of submits, in simulated milliseconds. */
const BURST_EVERY_MS = 60_000;
/** Submits of a burst, and jobs in one. */
const BURST = 30;
const BATCH_MAX = 8;
/** Time within a burst, in simulated milliseconds. */
const WITHIN_MS = 4_000;

/** A tenant whose clients submit more than its quotas allow, at all servers, and repeat requests. */
export class Metered {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #data: StoreData;
  readonly #server: () => SimServer | null;
  readonly #name: string;
  #count = 0;

  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    data: StoreData,
    server: () => SimServer | null,
    name: typeof METERED | typeof RATED,
  ) {
    this.#name = name;
    this.#clock = clock;
    this.#random = random;
    this.#data = data;
    this.#server = server;
  }

  /** Plans bursts of submits within the time. */
  plan(withinMs: number): void {
    const limits =
      this.#name === RATED ? { submitsPerSec: RATED_PER_SEC } : { maxWaiting: METERED_MAX, submitsPerSec: 20 };
    this.#data.createTenant({ ...TENANT_DEFAULTS, ...limits, name: this.#name, createdAt: this.#data.now() });
    for (let atMs = 0; ; ) {
      atMs += this.#random.next() * 2 * BURST_EVERY_MS;
      if (atMs >= withinMs) return;
      for (let n = 0; n < BURST; n++) this.#submit(atMs + this.#random.next() * WITHIN_MS);
    }
  }

  #submit(atMs: number): void {
    const tenant = tenantOf(this.#name);
    const key = `${this.#name} ${++this.#count}`;
    const runMs = this.#random.between(100, 3_000);
    const work: Work = {
      ...{ runMs, failTimes: 0, blockMs: 0, stubborn: false, hangs: false, isPoison: false, steps: 0, waits: [] },
      definition: { text: `of ${this.#name} ${this.#count}`, handler: "plain", maxAttempts: 5 },
    };
    const received = {
      job: { target: { handler: "plain" }, retryPolicy: { maxAttempts: 5 }, delayMs: this.#random.between(0, 5_000) },
      payload: Buffer.from(JSON.stringify(work)),
    };
    const isBatch = this.#random.chance(0.3);
    const jobs = Array.from({ length: isBatch ? this.#random.between(2, BATCH_MAX) : 1 }, () => received);
    const take = () => {
      this.#server()
        ?.intake?.take(tenant, jobs, isBatch ? null : { tenant, key, requestHash: key })
        .catch(() => undefined);
    };
    this.#clock.plan(atMs, take);
    if (!isBatch && this.#random.chance(0.2)) this.#clock.plan(atMs + this.#random.between(0, 10_000), take);
  }
}
