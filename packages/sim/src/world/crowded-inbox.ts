import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { SimServer } from "./sim-server.ts";
import type { Work } from "./sim-worker.ts";
import { Submits } from "./submits.ts";
import { TENANT } from "./tenant.ts";

/** Time after the faults from which on no effect of a fault hinders any process, in simulated milliseconds. */
const AFTER_FAULTS_MS = 80_000;
/** Number of cancels, more than the scheduler reads at a time. */
const CANCELS = [1_100, 2_500] as const;
const CANCEL_EVERY_MS = 2;
const LOOK_AGAIN_MS = 500;
/** Time for which the handler ignores its signal, in seconds; its cancels stay open meanwhile. */
const GRACE_SEC = 90;
const PLAN_LASTS_MS = 150_000;
/** Jobs with the same key have the same shard, and so the same owner. */
const SAME_SHARD = { concurrencyKey: "crowd", concurrencyLimit: 2 } as const;

/**
 * Clients that repeatedly cancel an execution whose handler ignores that, and meanwhile pause and resume a recurring
 * job. They start when the faults have ended, so that a command that is not applied in time has no other cause.
 */
export class CrowdedInbox {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #submits: Submits;
  #isOpen = false;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#submits = new Submits(clock, history, server);
  }

  /** Whether any of this load is still open. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  start(): void {
    this.#isOpen = true;
    this.#clock.plan(AFTER_FAULTS_MS, () => this.#submit());
  }

  #submit(): void {
    const text = "crowded";
    const work: Work = {
      ...{
        runMs: 600_000,
        failTimes: 0,
        blockMs: 0,
        stubborn: true,
        hangs: false,
        isPoison: false,
        steps: 0,
        waits: [],
      },
      definition: { text, handler: "plain", maxAttempts: 1 },
    };
    const job = { target: { handler: "plain" }, priority: 0, retryPolicy: { maxAttempts: 1 }, ...SAME_SHARD };
    const stubborn = { job: { ...job, timeoutSec: 600, cancelGraceSec: GRACE_SEC }, payload: bytesOf(work) };
    this.#submits.plan(0, {
      key: text,
      received: stubborn,
      answered: (taken) => {
        const executionId = taken?.executionId;
        if (executionId === undefined) return this.#end();
        this.#history.add({ kind: "ACCEPTED", key: text, executionId, deduplicated: false });
        this.#plan(executionId, { ...work, runMs: 100, stubborn: false });
      },
    });
  }

  /** Submits the recurring job that will be paused. */
  #plan(executionId: string, work: Work): void {
    const endAt = new Date(EPOCH_MS + this.#clock.nowMs + PLAN_LASTS_MS).toISOString();
    const definition = { text: "paused", handler: "plain", maxAttempts: 1 };
    const keys = { retryPolicy: { maxAttempts: 1 }, name: definition.text, ...SAME_SHARD };
    const job = { target: { handler: "plain" }, ...keys, everySec: 3, endAt };
    const key = definition.text;
    const answered = (taken: { jobId: string } | null) => {
      if (taken === null) return this.#end();
      this.#history.add({ kind: "PLAN_ACCEPTED", key, jobId: taken.jobId });
      void this.#whenRunning(executionId, taken.jobId);
    };
    this.#submits.plan(0, { key, received: { job, payload: bytesOf({ ...work, definition }) }, answered });
  }

  async #whenRunning(executionId: string, jobId: string): Promise<void> {
    const view = await this.#server()
      ?.store?.queries.getExecution("default", executionId)
      .catch(() => null);
    if (view?.state !== "RUNNING") {
      this.#clock.plan(LOOK_AGAIN_MS, () => void this.#whenRunning(executionId, jobId));
      return;
    }
    this.#history.add({ kind: "CANCEL_ASKED", executionId });
    const cancels = this.#random.between(...CANCELS);
    for (let i = 0; i < cancels; i++)
      this.#clock.plan(i * CANCEL_EVERY_MS, () => this.#ask((server) => server.cancel(executionId, view.shard)));
    const pauseMs = cancels * CANCEL_EVERY_MS + this.#random.between(0, 5_000);
    this.#clock.plan(pauseMs, () => this.#change(jobId, "PAUSE"));
    this.#clock.plan(pauseMs + this.#random.between(5_000, 30_000), () => {
      this.#change(jobId, "RESUME");
      this.#end();
    });
  }

  #change(jobId: string, change: "PAUSE" | "RESUME"): void {
    this.#history.add({ kind: "CHANGE_ASKED", jobId, change });
    this.#ask(({ plans }) => (change === "PAUSE" ? plans?.pause(TENANT, jobId) : plans?.resume(TENANT, jobId, false)));
  }

  #ask(what: (server: SimServer) => Promise<unknown> | undefined): void {
    const server = this.#server();
    if (server !== null) what(server)?.catch(() => undefined);
  }

  #end(): void {
    this.#isOpen = false;
  }
}

function bytesOf(work: Work): Buffer {
  return Buffer.from(JSON.stringify(work));
}
