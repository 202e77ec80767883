import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { PlannedPart } from "./changes.ts";
import type { SimServer } from "./sim-server.ts";
import { type ReceivedJob, someDefinition } from "./some-definition.ts";
import { someRule } from "./some-rule.ts";
import { Submits } from "./submits.ts";

const DEEDS = [
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
type Deed = (typeof DEEDS)[number];

/** Clients with recurring jobs: they edit, pause, resume, trigger, backfill and delete them while they fire. */
export class Recurring {
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #submits: Submits;
  #endMs = 0;

  constructor(clock: VirtualClock, dice: Dice, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#server = server;
    this.#submits = new Submits(clock, history, server);
  }

  /** Submits that were not answered yet. */
  get open(): number {
    return this.#submits.open;
  }

  /**
   * @param endMs nothing is planned from then on: some time after faults and edits have ended
   * @param only what of it is left in: they have numbers, from 1; the others stay as they were
   */
  plan(jobs: number, withinMs: number, endMs: number, only: PlannedPart): void {
    this.#endMs = endMs;
    for (let left = jobs; left > 0; left--) {
      const key = `recurring-${left}`;
      const dice = this.#dice.fork(key);
      const received = this.#received(dice, key);
      const atMs = dice.roll() * 0.6 * withinMs;
      if (atMs > only.untilMs || !only.isWanted(left)) continue;
      const answered = (taken: { jobId: string } | null) => {
        if (taken === null) return;
        this.#history.add({ kind: "PLAN_ACCEPTED", key, jobId: taken.jobId });
        this.#live(key, taken.jobId, received, dice.fork("life"), withinMs);
      };
      this.#submits.plan(atMs, { key, received, answered });
    }
  }

  #received(dice: Dice, key: string): ReceivedJob {
    const keys = { ...(dice.chance(0.15) && { concurrencyKey: `key-${dice.between(1, 5)}`, concurrencyLimit: 2 }) };
    return this.#definition(dice, key, { name: key, ...keys });
  }

  #definition(dice: Dice, text: string, keys: Parameters<typeof someDefinition>[2]): ReceivedJob {
    const { job, payload } = someDefinition(dice, text, keys);
    const { delayMs: _once, ...rest } = job;
    return { job: { ...rest, ...someRule(dice, this.#endMs) }, payload };
  }

  #live(key: string, jobId: string, { job }: ReceivedJob, dice: Dice, withinMs: number): void {
    const { name, concurrencyKey, concurrencyLimit } = job;
    const keys = {
      ...(name !== undefined && { name }),
      ...(concurrencyKey !== undefined && { concurrencyKey }),
      ...(concurrencyLimit !== undefined && { concurrencyLimit }),
    };
    for (let left = dice.between(0, 6); left > 0; left--) {
      const atMs = this.#clock.nowMs + dice.roll() * (withinMs - this.#clock.nowMs);
      const deed = dice.pick(DEEDS);
      const received = this.#definition(dice, `${key}/${left}`, keys);
      const range = {
        sinceMs: dice.roll() * atMs,
        lengthMs: dice.between(60_000, 1_200_000),
        limit: dice.between(1, 5),
      };
      this.#clock.plan(atMs - this.#clock.nowMs, () => this.#do(deed, jobId, received, range));
    }
  }

  #do(deed: Deed, jobId: string, received: ReceivedJob, range: Range): void {
    const server = this.#server();
    if (!server) return;
    this.#history.add({ kind: "CHANGE_ASKED", jobId, change: deed });
    // Refused, or nobody knows.
    void this.#ask(server, deed, jobId, received, range).catch(() => undefined);
  }

  async #ask(server: SimServer, deed: Deed, jobId: string, received: ReceivedJob, range: Range): Promise<void> {
    const { changer, plans, runs } = server;
    if (deed === "EDIT") await changer?.replace(jobId, received, null);
    else if (deed === "UPSERT") await changer?.putNamed(received);
    else if (deed === "DELETE") {
      const isOver = await changer?.delete(jobId, false);
      if (isOver !== undefined) this.#history.add({ kind: "DELETE_ANSWERED", jobId, isOver });
    } else if (deed === "TRIGGER") {
      const run = await runs?.trigger(jobId);
      if (run) this.#history.add({ kind: "RETRY_ANSWERED", jobId, executionId: run.executionId });
    } else if (deed === "PAUSE") await plans?.pause(jobId);
    else if (deed === "BACKFILL") {
      const since = EPOCH_MS + Math.floor(range.sinceMs);
      const until = Math.min(since + range.lengthMs, EPOCH_MS + Math.floor(this.#clock.nowMs));
      await plans?.backfill(jobId, { since, until, limit: range.limit });
    } else await plans?.resume(jobId, deed === "RESUME_AND_CATCH_UP");
  }
}

interface Range {
  sinceMs: number;
  lengthMs: number;
  limit: number;
}
