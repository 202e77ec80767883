import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { SimServer } from "./sim-server.ts";
import type { Work } from "./sim-worker.ts";
import { Submits } from "./submits.ts";

/** Mean interval of spurts, in simulated milliseconds. */
const EVERY_MS = 900_000;
/** Time after the faults of the last spurt, in simulated milliseconds: the checkers of durations judge by then. */
const AFTER_FAULTS_MS = 80_000;
const QUICK = { jobs: 300, runMs: [0, 3], withinMs: 400 } as const;
const SLOW = { jobs: 80, runMs: [5_000, 40_000], withinMs: 60 } as const;

type Kind = typeof QUICK | typeof SLOW;

/** Clients that submit many quick jobs and then slow ones, for workers whose prefetch the gateway measures. */
export class Spurts {
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #submits: Submits;
  #count = 0;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#random = random;
    this.#history = history;
    this.#submits = new Submits(clock, history, server);
  }

  /** Number of submits without an answer. */
  get open(): number {
    return this.#submits.open;
  }

  /** Plans spurts at random times within the time. */
  plan(withinMs: number): void {
    for (let atMs = this.#next(); atMs < withinMs; atMs += this.#next()) this.#spurt(atMs);
  }

  /** Plans a last spurt, which starts when no fault hinders any process. */
  planLast(): void {
    this.#spurt(AFTER_FAULTS_MS);
  }

  #next(): number {
    return this.#random.next() * 2 * EVERY_MS;
  }

  #spurt(atMs: number): void {
    const name = `spurt-${++this.#count}`;
    this.#submit(`${name}-quick`, QUICK, atMs);
    this.#submit(`${name}-slow`, SLOW, atMs + QUICK.withinMs);
  }

  #submit(name: string, { jobs, runMs, withinMs }: Kind, atMs: number): void {
    for (let i = 0; i < jobs; i++) {
      const key = `${name}-${i}`;
      const work: Work = {
        ...{ runMs: this.#random.between(runMs[0], runMs[1]), failTimes: 0, blockMs: 0 },
        ...{ stubborn: false, hangs: false, isPoison: false, steps: 0, waits: [] },
        definition: { text: key, handler: "plain", maxAttempts: 3 },
      };
      const job = { target: { handler: "plain" }, priority: 5, retryPolicy: { maxAttempts: 3 } };
      this.#submits.plan(atMs + this.#random.next() * withinMs, {
        key,
        received: { job, payload: Buffer.from(JSON.stringify(work)) },
        answered: (taken) => {
          const executionId = taken?.executionId;
          if (executionId === undefined) return;
          this.#history.add({ kind: "ACCEPTED", key, executionId, deduplicated: "deduplicated" in (taken ?? {}) });
        },
      });
    }
  }
}
