import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { Changes, type PlannedPart } from "./changes.ts";
import { Signals } from "./signals.ts";
import { withOnFinish } from "./sim-receiver.ts";
import type { SimServer } from "./sim-server.ts";
import { type ReceivedJob, someDefinition } from "./some-definition.ts";
import { Submits } from "./submits.ts";

interface Taken {
  jobId: string;
  executionId: string;
}

interface PlannedJob extends ReceivedJob {
  cancelAfterMs: number | null;
}

export interface Accepted {
  key: string;
  executionId: string;
}

/** Clients that each submit jobs at random times, and repeat a submit until it is answered. */
export class Workload {
  /** Random choice of the jobs that tell a receiver of their ends; null: none do. */
  onFinish: SeededRandom | null = null;
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #changes: Changes;
  readonly #submits: Submits;
  readonly #signals: Signals;
  readonly accepted: Accepted[] = [];

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#changes = new Changes(clock, random.fork("changes"), history, server);
    this.#submits = new Submits(clock, history, server);
    this.#signals = new Signals(clock, server);
  }

  /** Number of submits without an answer. */
  get open(): number {
    return this.#submits.open;
  }

  /**
   * Plans `jobs` submits within the time, some of them in bursts.
   * @param only part that remains: jobs have numbers, from 1; the others stay unchanged
   */
  plan(jobs: number, withinMs: number, only: PlannedPart): void {
    this.#changes.planNamed(Math.ceil(jobs / 100), withinMs, only);
    for (let left = jobs; left > 0; ) {
      const burst = Math.min(left, this.#random.chance(0.05) ? this.#random.between(20, 200) : 1);
      const atMs = this.#random.next() * withinMs;
      for (let i = 0; i < burst; i++) {
        const key = `job-${left - i}`;
        const job = this.#job(key);
        if (atMs <= only.untilMs && only.isWanted(left - i)) this.#planOne(key, job, atMs);
      }
      left -= burst;
    }
  }

  #planOne(key: string, job: PlannedJob, atMs: number): void {
    this.#submits.plan(atMs, {
      key,
      received: job,
      answered: (taken) => {
        if (taken?.executionId === undefined) return;
        const { jobId, executionId } = taken;
        this.#answered(key, { jobId, executionId }, "deduplicated" in taken, job);
      },
    });
  }

  #job(key: string): PlannedJob {
    const random = this.#random;
    const keys = {
      ...(random.chance(0.2) && { concurrencyKey: `key-${random.between(1, 5)}`, concurrencyLimit: 2 }),
      ...(random.chance(0.05) && { uniqueKey: `unique-${random.between(1, 10)}` }),
    };
    // A cancel may come at once, while the execution is on its way.
    const cancelAfterMs = random.chance(0.1) ? random.pick([random.between(0, 20), random.between(0, 10_000)]) : null;
    const received = someDefinition(random, key, keys);
    return { ...(this.onFinish === null ? received : withOnFinish(received, this.onFinish)), cancelAfterMs };
  }

  #answered(key: string, { jobId, executionId }: Taken, deduplicated: boolean, job: PlannedJob): void {
    this.accepted.push({ key, executionId });
    this.#history.add({ kind: "ACCEPTED", key, executionId, deduplicated });
    if (!deduplicated) this.#changes.plan(key, { jobId, executionId }, job);
    if (!deduplicated) this.#signals.plan(executionId, job);
    if (job.cancelAfterMs === null) return;
    this.#clock.plan(job.cancelAfterMs, () => void this.#cancel(executionId));
  }

  async #cancel(executionId: string): Promise<void> {
    const server = this.#server();
    const view = await server?.store?.queries.getExecution("default", executionId).catch(() => null);
    if (!view) return;
    this.#history.add({ kind: "CANCEL_ASKED", executionId });
    await server?.cancel(executionId, view.shard).catch(() => undefined);
  }
}
