import { type StoreData, TENANT_DEFAULTS, tenantOf } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { SimServer } from "./sim-server.ts";
import type { Work } from "./sim-worker.ts";

/** Tenant with quotas. */
export const METERED = "metered";
/** Its executions that may wait. */
export const METERED_MAX = 25;
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
  #count = 0;

  constructor(clock: VirtualClock, random: SeededRandom, data: StoreData, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#data = data;
    this.#server = server;
  }

  /** Plans bursts of submits within the time. */
  plan(withinMs: number): void {
    const limits = { maxWaiting: METERED_MAX, submitsPerSec: 20 };
    this.#data.createTenant({ ...TENANT_DEFAULTS, ...limits, name: METERED, createdAt: this.#data.now() });
    for (let atMs = 0; ; ) {
      atMs += this.#random.next() * 2 * BURST_EVERY_MS;
      if (atMs >= withinMs) return;
      for (let n = 0; n < BURST; n++) this.#submit(atMs + this.#random.next() * WITHIN_MS);
    }
  }

  #submit(atMs: number): void {
    const tenant = tenantOf(METERED);
    const key = `metered ${++this.#count}`;
    const runMs = this.#random.between(100, 3_000);
    const work: Work = {
      ...{ runMs, failTimes: 0, blockMs: 0, stubborn: false, hangs: false, isPoison: false, steps: 0, waits: [] },
      definition: { text: `of ${METERED} ${this.#count}`, handler: "plain", maxAttempts: 5 },
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
