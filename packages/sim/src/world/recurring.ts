import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { PlannedPart } from "./changes.ts";
import { withOnFinish } from "./sim-receiver.ts";
import type { SimServer } from "./sim-server.ts";
import { type ReceivedJob, someDefinition } from "./some-definition.ts";
import { someRule } from "./some-rule.ts";
import { Submits } from "./submits.ts";
import { TENANT } from "./tenant.ts";

const ACTIONS = [
  "EDIT",
  "EDIT",
  "PAUSE",
  "RESUME",
  "RESUME_AND_CATCH_UP",
  "TRIGGER",
  "BACKFILL",
  "DELETE",
  "UPSERT",
] as const;
type Action = (typeof ACTIONS)[number];

/**
 * Longest wait of a recurring job's handler, in simulated milliseconds. Catch-ups run one after the other, and even the
 * largest number of them must end before the simulation does.
 */
const RECURRING_WAIT_MAX_MS = 20_000;

/** Clients with recurring jobs: they edit, pause, resume, trigger, backfill and delete them while they fire. */
export class Recurring {
  /** Random choice of the jobs that tell a receiver of their ends; null: none do. */
  onFinish: SeededRandom | null = null;
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #submits: Submits;
  #endMs = 0;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#submits = new Submits(clock, history, server);
  }

  /** Number of submits without an answer. */
  get open(): number {
    return this.#submits.open;
  }

  /**
   * @param endMs end of all plans, some time after faults and edits have ended, in simulated milliseconds
   * @param only part that remains: jobs have numbers, from 1; the others stay unchanged
   */
  plan(jobs: number, withinMs: number, endMs: number, only: PlannedPart): void {
    this.#endMs = endMs;
    for (let left = jobs; left > 0; left--) {
      const key = `recurring-${left}`;
      const random = this.#random.fork(key);
      const received = this.#received(random, key);
      const atMs = random.next() * 0.6 * withinMs;
      if (atMs > only.untilMs || !only.isWanted(left)) continue;
      const answered = (taken: { jobId: string } | null) => {
        if (taken === null) return;
        this.#history.add({ kind: "PLAN_ACCEPTED", key, jobId: taken.jobId });
        this.#live(key, taken.jobId, received, random.fork("life"), withinMs);
      };
      this.#submits.plan(atMs, { key, received, answered });
    }
  }

  #received(random: SeededRandom, key: string): ReceivedJob {
    const keys = { ...(random.chance(0.15) && { concurrencyKey: `key-${random.between(1, 5)}`, concurrencyLimit: 2 }) };
    return this.#definition(random, key, { name: key, ...keys });
  }

  #definition(random: SeededRandom, text: string, keys: Parameters<typeof someDefinition>[2]): ReceivedJob {
    const made = someDefinition(random, text, keys, RECURRING_WAIT_MAX_MS);
    const { job, payload } = this.onFinish === null ? made : withOnFinish(made, this.onFinish);
    const { delayMs: _once, ...rest } = job;
    return { job: { ...rest, ...someRule(random, this.#endMs) }, payload };
  }

  #live(key: string, jobId: string, { job }: ReceivedJob, random: SeededRandom, withinMs: number): void {
    const { name, concurrencyKey, concurrencyLimit } = job;
    const keys = {
      ...(name !== undefined && { name }),
      ...(concurrencyKey !== undefined && { concurrencyKey }),
      ...(concurrencyLimit !== undefined && { concurrencyLimit }),
    };
    for (let left = random.between(0, 6); left > 0; left--) {
      const atMs = this.#clock.nowMs + random.next() * (withinMs - this.#clock.nowMs);
      const action = random.pick(ACTIONS);
      const received = this.#definition(random, `${key}/${left}`, keys);
      const range = {
        sinceMs: random.next() * atMs,
        lengthMs: random.between(60_000, 1_200_000),
        limit: random.between(1, 5),
      };
      this.#clock.plan(atMs - this.#clock.nowMs, () => this.#do(action, jobId, received, range));
    }
  }

  #do(action: Action, jobId: string, received: ReceivedJob, range: Range): void {
    const server = this.#server();
    if (!server) return;
    this.#history.add({ kind: "CHANGE_ASKED", jobId, change: action });
    // The action was refused, or its outcome is unknown.
    void this.#ask(server, action, jobId, received, range).catch(() => undefined);
  }

  async #ask(server: SimServer, action: Action, jobId: string, received: ReceivedJob, range: Range): Promise<void> {
    const { changer, plans, runs } = server;
    if (action === "EDIT") await changer?.replace(TENANT, jobId, received, null);
    else if (action === "UPSERT") await changer?.putNamed(TENANT, received);
    else if (action === "DELETE") {
      const isOver = await changer?.delete(TENANT, jobId, false);
      if (isOver !== undefined) this.#history.add({ kind: "DELETE_ANSWERED", jobId, isOver });
    } else if (action === "TRIGGER") {
      const run = await runs?.trigger(TENANT, jobId);
      if (run) this.#history.add({ kind: "RETRY_ANSWERED", jobId, executionId: run.executionId });
    } else if (action === "PAUSE") await plans?.pause(TENANT, jobId);
    else if (action === "BACKFILL") {
      const since = EPOCH_MS + Math.floor(range.sinceMs);
      const until = Math.min(since + range.lengthMs, EPOCH_MS + Math.floor(this.#clock.nowMs));
      await plans?.backfill(TENANT, jobId, { since, until, limit: range.limit });
    } else await plans?.resume(TENANT, jobId, action === "RESUME_AND_CATCH_UP");
  }
}

interface Range {
  sinceMs: number;
  lengthMs: number;
  limit: number;
}
