import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import { MISFIRES, OVERLAPS, type RecurrenceRule } from "../../domain/recurrence.ts";
import { recurringJob, ruleOf } from "../testing/recurring.ts";
import { RecurringWorld } from "../testing/recurring-world.ts";
import { START } from "../testing/story.ts";

const ONE_AT_A_TIME = ["SKIP", "BUFFER_ONE", "CANCEL_PREVIOUS"] as const;

interface Move {
  kind: (typeof kinds)[number] | (typeof rare)[number];
  n: number;
}

const kinds = [
  "later",
  "later",
  "later",
  "look",
  "look",
  "read",
  "read",
  "send",
  "send",
  "land",
  "land",
  "finish",
] as const;
const rare = ["finish", "crash", "pause", "resume", "edit", "backfill"] as const;

const moves = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom(...kinds), n: fc.nat(1_000) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom(...rare), n: fc.nat(1_000) }) },
  ),
  { minLength: 20, maxLength: 150 },
);

const rules = fc.record({
  everyMs: fc.constantFrom(1_000, 7_000, 60_000),
  overlap: fc.constantFrom(...OVERLAPS),
  misfire: fc.constantFrom(...MISFIRES),
  misfireGraceMs: fc.constantFrom(0, 10_000, 60_000),
  maxCatchUp: fc.constantFrom(1, 3, 20),
  budget: fc.constantFrom(3, 50, 4_000),
});

type Rules = typeof rules extends fc.Arbitrary<infer R> ? R : never;

/** Pauses in ms: usual ones, and those of an outage. */
const PAUSES_MS = [1, 400, 999, 1_000, 6_000, 30_000, 61_000, 600_000];

class Played {
  readonly world: RecurringWorld;
  readonly job;
  readonly everyMs: number;
  #version = 1;
  #rule: RecurrenceRule;

  constructor({ everyMs, budget, ...rule }: Rules) {
    this.everyMs = everyMs;
    this.world = new RecurringWorld({ batchPlanRows: budget, stepInstants: 10 * budget });
    this.#rule = ruleOf({ times: { type: "INTERVAL", everyMs, mode: "FIXED_RATE" }, ...rule });
    this.job = this.world.plans.insert(recurringJob(this.#rule, { policy: { ...DEFAULT_POLICY, timeoutMs: 1e10 } }));
    this.world.story.worker("w1", { slots: 200 });
  }

  move({ kind, n }: Move): void {
    const { world, job } = this;
    const at = world.story.now;
    if (kind === "later") this.#later(PAUSES_MS[n % PAUSES_MS.length] as number);
    else if (kind === "look") world.look();
    else if (kind === "read") world.read();
    else if (kind === "send") world.send();
    else if (kind === "land") world.land();
    else if (kind === "finish") world.finish(world.running[n % Math.max(1, world.running.length)]);
    else if (kind === "crash") this.#crash(n % 2 === 0);
    else if (kind === "pause") world.order(job, { kind: "PAUSE", at });
    else if (kind === "resume") world.order(job, { kind: "RESUME", at, catchUp: n % 2 === 0 });
    else if (kind === "edit") this.#edit(n);
    else if (kind === "backfill") {
      // A longer backfill would only take longer, and show nothing more.
      const since = Math.max(START + 1, at - 100 * this.everyMs);
      world.order(job, { kind: "BACKFILL", since, until: at - (n % 3) * 5_000, limit: 1 + (n % 3) });
    }
    this.judge();
  }

  /** Moves the clock. A living owner reads its commands within a bounded time. */
  #later(ms: number): void {
    if (ms > 10_000) this.world.look().read();
    this.world.story.later(ms);
    if (ms > 10_000) this.world.look().read();
  }

  #crash(isWritten: boolean): void {
    this.world.crash(isWritten);
    this.world.story.worker("w1", { slots: 200 });
  }

  /** Edits the job without changing its instants: their outcomes may change, but none may be lost. */
  #edit(n: number): void {
    const { world, job } = this;
    const former = { version: this.#version++, rule: this.#rule, until: world.story.now };
    const overlaps = this.#rule.overlap === "ALLOW" ? (["ALLOW"] as const) : ONE_AT_A_TIME;
    this.#rule = { ...this.#rule, overlap: overlaps[n % overlaps.length] ?? "SKIP" };
    world.plans.edit(job.jobId, { recurrence: this.#rule });
    world.order(job, { kind: "LOOK", former });
  }

  /** Checks that no instant ran early or twice. */
  judge(): void {
    const { ran, skipped } = this.ledger();
    const now = this.world.story.now - START;
    for (const at of [...ran, ...skipped]) assert.ok(at <= now && at % this.everyMs === 0, `${at} is not planned`);
    assert.equal(new Set(ran).size, ran.length, `ran twice: ${ran.join(" ")}`);
    assert.equal(new Set(skipped).size, skipped.length, `skipped twice: ${skipped.join(" ")}`);
  }

  ledger(): { ran: number[]; skipped: number[] } {
    const skips = this.world.plans.skips.flatMap(({ from, to, count }) => {
      const instants = Array.from({ length: count }, (_, i) => from - START + i * this.everyMs);
      assert.equal(instants.at(-1), to - START, "what is one row was planned in a row");
      assert.ok(count === 1 || count > 100);
      return instants;
    });
    return { ran: this.world.ledger(this.job).ran, skipped: skips };
  }

  /** Ends all faults, and lets everything that is due end. */
  calm(): void {
    const { world, job } = this;
    world.order(job, { kind: "RESUME", at: world.story.now, catchUp: false });
    for (let round = 0; !this.#isQuiet(); round++) {
      assert.ok(round < 3_000, `it never came to rest: ${this.#why()}`);
      world.rest();
      while (world.running.length > 0) world.finish();
      this.judge();
    }
    const { ran, skipped } = this.ledger();
    const all = new Set([...ran, ...skipped]);
    const now = world.story.now - START;
    for (let at = this.everyMs; at <= now; at += this.everyMs) assert.ok(all.has(at), `${at} is not accounted for`);
    const planned = world.plans.created.filter((_, i) => world.plans.triggers[i] === "SCHEDULE");
    for (const { scheduledAt } of planned)
      assert.ok(!skipped.includes(scheduledAt - START), `${scheduledAt} ran, and was skipped`);
  }

  #why(): string {
    const { world, job } = this;
    const { plan, open } = world.plans.jobs.get(job.jobId) as typeof job;
    const { entries, plans } = world.story.state;
    const places = [...entries.values()].map(({ id, place }) => `${id} ${place}`);
    const rows = world.store.open().map((id) => JSON.stringify({ ...world.store.rows.get(id), row: 0 }));
    return JSON.stringify({ plan, open, places, rows, commands: world.commands, memory: [...plans.byId.keys()] });
  }

  #isQuiet(): boolean {
    const { world, job } = this;
    const { plan } = world.plans.jobs.get(job.jobId) as typeof job;
    const isThrough =
      (plan.nextFireAt ?? 0) > world.story.now && plan.bufferedAt === null && plan.catchUps.length === 0;
    return isThrough && plan.state === "ACTIVE" && world.store.open().length === 0 && world.commands.length === 0;
  }
}

it("every planned instant is run or skipped, once, on time, one at a time where that is asked for, whatever happens to its owner", () => {
  fc.assert(
    fc.property(rules, moves, (rule, list) => {
      const played = new Played(rule);
      for (const move of list) played.move(move);
      played.calm();
    }),
    { numRuns: 300 },
  );
});
