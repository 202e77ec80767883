import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { Changes, type PlannedPart } from "./changes.ts";
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

/** Clients: each submits its jobs at times of the dice's choosing, and repeats a submit until it is answered. */
export class Workload {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #changes: Changes;
  readonly #submits: Submits;
  readonly accepted: Accepted[] = [];

  constructor(clock: VirtualClock, dice: Dice, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#server = server;
    this.#changes = new Changes(clock, dice.fork("changes"), history, server);
    this.#submits = new Submits(clock, history, server);
  }

  /** Submits that were not answered yet. */
  get open(): number {
    return this.#submits.open;
  }

  /**
   * Plans `jobs` submits within the time, some of them in herds.
   * @param only what of it is left in: jobs have numbers, from 1; the others stay as they were
   */
  plan(jobs: number, withinMs: number, only: PlannedPart): void {
    this.#changes.planNamed(Math.ceil(jobs / 100), withinMs, only);
    for (let left = jobs; left > 0; ) {
      const herd = Math.min(left, this.#dice.chance(0.05) ? this.#dice.between(20, 200) : 1);
      const atMs = this.#dice.roll() * withinMs;
      for (let i = 0; i < herd; i++) {
        const key = `job-${left - i}`;
        const job = this.#job(key);
        if (atMs <= only.untilMs && only.isWanted(left - i)) this.#planOne(key, job, atMs);
      }
      left -= herd;
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
    const dice = this.#dice;
    const keys = {
      ...(dice.chance(0.2) && { concurrencyKey: `key-${dice.between(1, 5)}`, concurrencyLimit: 2 }),
      ...(dice.chance(0.05) && { uniqueKey: `unique-${dice.between(1, 10)}` }),
    };
    // A cancel may come at once, while the execution is on its way.
    const cancelAfterMs = dice.chance(0.1) ? dice.pick([dice.between(0, 20), dice.between(0, 10_000)]) : null;
    return { ...someDefinition(dice, key, keys), cancelAfterMs };
  }

  #answered(key: string, { jobId, executionId }: Taken, deduplicated: boolean, job: PlannedJob): void {
    this.accepted.push({ key, executionId });
    this.#history.add({ kind: "ACCEPTED", key, executionId, deduplicated });
    if (!deduplicated) this.#changes.plan(key, { jobId, executionId }, job);
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
