import type { JobIntake } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { SimServer } from "./sim-server.ts";
import { HANDLERS, type Work } from "./sim-worker.ts";

/** A client gives up waiting for an answer after this, and asks again with the same key. */
const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 400;

type ReceivedJob = Parameters<JobIntake["take"]>[0][number];

interface PlannedJob extends ReceivedJob {
  cancelAfterMs: number | null;
}

export interface Accepted {
  key: string;
  executionId: string;
}

/** Clients: each submits its jobs at times of the dice's choosing, and repeats a submit until it is answered. */
export class Workload {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly accepted: Accepted[] = [];
  #open = 0;

  constructor(clock: VirtualClock, dice: Dice, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#server = server;
  }

  /** Submits that were not answered yet. */
  get open(): number {
    return this.#open;
  }

  /**
   * Plans `jobs` submits within the time, some of them in herds.
   * @param only what of it is left in: jobs have numbers, from 1; the others stay as they were
   */
  plan(jobs: number, withinMs: number, only: { untilMs: number; isWanted: (job: number) => boolean }): void {
    for (let left = jobs; left > 0; ) {
      const herd = Math.min(left, this.#dice.chance(0.05) ? this.#dice.between(20, 200) : 1);
      const atMs = this.#dice.roll() * withinMs;
      for (let i = 0; i < herd; i++) {
        const job = this.#job();
        if (atMs <= only.untilMs && only.isWanted(left - i)) this.#planOne(`job-${left - i}`, job, atMs);
      }
      left -= herd;
    }
  }

  #planOne(key: string, job: PlannedJob, atMs: number): void {
    this.#open++;
    this.#clock.plan(atMs, () => this.#submit(key, job));
  }

  #job(): PlannedJob {
    const dice = this.#dice;
    const handler = dice.chance(0.1) ? HANDLERS[1] : HANDLERS[0];
    const work: Work = {
      runMs: dice.chance(0.1) ? dice.between(1_000, 20_000) : dice.between(0, 300),
      failTimes: dice.chance(0.1) ? dice.between(1, 4) : 0,
      blockMs: dice.chance(0.005) ? dice.between(500, 20_000) : 0,
      isPoison: dice.chance(0.01),
      stubborn: dice.chance(0.05),
    };
    return {
      job: {
        target: { handler, ...(handler === "gpu-only" && { requires: ["gpu"] }) },
        priority: dice.between(0, 9),
        ...(dice.chance(0.2) && { delayMs: dice.between(1, 60_000) }),
        ...(dice.chance(0.2) && { concurrencyKey: `key-${dice.between(1, 5)}`, concurrencyLimit: 2 }),
        ...(dice.chance(0.05) && { uniqueKey: `unique-${dice.between(1, 10)}` }),
        retryPolicy: { maxAttempts: dice.between(1, 5), initialDelayMs: dice.between(0, 5_000), maxDelayMs: 20_000 },
        timeoutSec: dice.between(1, 30),
        cancelGraceSec: dice.between(0, 3),
      },
      payload: Buffer.from(JSON.stringify(work)),
      // Also at once: while what is to be cancelled is on its way.
      cancelAfterMs: dice.chance(0.1) ? dice.pick([dice.between(0, 20), dice.between(0, 10_000)]) : null,
    };
  }

  #submit(key: string, job: PlannedJob): void {
    this.#history.add({ kind: "SUBMITTED", key, handler: job.job.target.handler });
    let isOver = false;
    const again = () => {
      if (isOver) return;
      isOver = true;
      this.#clock.plan(RETRY_MS, () => this.#submit(key, job));
    };
    this.#clock.plan(ANSWER_WITHIN_MS, again);
    const intake = this.#server()?.intake;
    if (!intake) return;
    const idempotency = { tenant: "default", key, requestHash: key };
    intake.take([job], idempotency).then(({ bodies }) => {
      const [body] = bodies;
      if (isOver || body === undefined) return;
      isOver = true;
      this.#answered(key, body.executionId, "deduplicated" in body, job.cancelAfterMs);
    }, again);
  }

  #answered(key: string, executionId: string, deduplicated: boolean, cancelAfterMs: number | null): void {
    this.#open--;
    this.accepted.push({ key, executionId });
    this.#history.add({ kind: "ACCEPTED", key, executionId, deduplicated });
    if (cancelAfterMs === null) return;
    this.#clock.plan(cancelAfterMs, () => void this.#cancel(executionId));
  }

  async #cancel(executionId: string): Promise<void> {
    const server = this.#server();
    const view = await server?.store?.queries.getExecution("default", executionId).catch(() => null);
    if (!view) return;
    this.#history.add({ kind: "CANCEL_ASKED", executionId });
    await server?.cancel(executionId, view.shard).catch(() => undefined);
  }
}
