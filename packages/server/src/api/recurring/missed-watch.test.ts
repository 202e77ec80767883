import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import "../../domain/schedule/testing/zones.ts";
import { DEFAULT_RECURRENCE, type RecurrenceRule, recurringJobId } from "../../domain/recurrence.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import type { InstantTraces, JobStretch, RecurringJob } from "../../ports/store-queries.ts";
import { MissedWatch } from "./missed-watch.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Jobs that fire every `everyMs` milliseconds, with all their traces except some. */
class World {
  readonly runtime = new ManualRuntime();
  readonly start = this.runtime.now();
  readonly jobs: RecurringJob[] = [];
  /** Instants without a trace, as `job place/instant`. */
  readonly lost = new Set<string>();
  traces = 0;
  isDown = false;
  readonly watch = new MissedWatch({
    queries: {
      recurringJobs: async (after, limit) => this.jobs.filter(({ jobId }) => jobId > (after ?? "")).slice(0, limit),
      traces: async (asked, limit) => asked.map((stretch) => this.#traces(stretch, limit)),
    },
    ...{ runtime: this.runtime, log: pino({ level: "silent" }), retentionDays: 30 },
    zones: { changeovers: () => [] },
  });

  add(everyMs: number, createdAt: number): RecurringJob {
    const times = { type: "INTERVAL", everyMs, mode: "FIXED_RATE" } as const;
    const bounds = { startAt: createdAt, endAt: null, maxFires: null, startWithinMs: null };
    const recurrence: RecurrenceRule = { ...DEFAULT_RECURRENCE, ...bounds, times };
    const place = String(this.jobs.length).padStart(12, "0");
    const nextFireAt = () => createdAt + (Math.floor((this.runtime.now() - createdAt) / everyMs) + 1) * everyMs;
    const job: RecurringJob = {
      ...{ jobId: recurringJobId(`019a0000-0000-7000-8000-${place}`), name: `job ${this.jobs.length}` },
      tenant: "default",
      ...{ version: 1, createdAt, updatedAt: createdAt, recurrence },
      get plan() {
        return { ...PLAN, nextFireAt: nextFireAt() };
      },
    };
    this.jobs.push(job);
    return job;
  }

  /** Lets the search look this number of times. */
  async looks(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.runtime.advance(10_000);
      await this.watch.look().catch(() => undefined);
    }
  }

  #traces({ jobId, since, until }: JobStretch, limit: number): InstantTraces {
    if (this.isDown) throw new Error("the store does not answer");
    const { createdAt, recurrence } = this.jobs.find((job) => job.jobId === jobId) as RecurringJob;
    const { everyMs } = recurrence.times as { everyMs: number };
    const fired: number[] = [];
    const first = createdAt + Math.max(0, Math.ceil((since - createdAt) / everyMs)) * everyMs;
    for (let at = first; at < until && fired.length < limit; at += everyMs) {
      if (!this.lost.has(`${jobId}/${at}`)) fired.push(at);
    }
    this.traces += fired.length;
    return { fired, skipped: [] };
  }
}

const PLAN = {
  ...({ version: 1, state: "ACTIVE", fired: 0, previous: null, bufferedAt: null } as const),
  ...{ catchUps: [], tzdata: "2026f" },
};

describe("the search for missed instants of all jobs", () => {
  it("says nothing before it has looked at all jobs", async () => {
    const world = new World();
    for (let i = 0; i < 1_200; i++) world.add(3_600_000, world.start - DAY_MS);
    await world.looks(1);
    assert.deepEqual(world.watch.found(), { jobs: [], instants: 0, lookedUntil: null });
    assert.deepEqual(world.watch.readings(), { instantsMissed: 0 });
    await world.looks(1);
    assert.equal(world.watch.found().lookedUntil, world.start + 10_000);
    assert.deepEqual(world.watch.readings(), { instantsMissed: 0, missedLookAgeSec: 10 });
  });

  it("finds a missed instant of the last day, names its job, and forgets it after a day", async () => {
    const world = new World();
    world.add(MINUTE_MS, world.start - DAY_MS);
    const { jobId } = world.add(MINUTE_MS, world.start - DAY_MS);
    const at = world.start - DAY_MS / 2;
    world.lost.add(`${jobId}/${at}`).add(`${jobId}/${at + MINUTE_MS}`);
    await world.looks(3);
    const { jobs, instants } = world.watch.found();
    assert.deepEqual(
      [jobs, instants],
      [[{ jobId, tenant: "default", name: "job 1", instants: [at, at + MINUTE_MS] }], 2],
    );
    await world.runtime.advance(DAY_MS / 2 + MINUTE_MS);
    await world.looks(3);
    assert.equal(world.watch.found().instants, 0);
  });

  it("notices that a trace is lost later, and that a backfill has made up for an instant", async () => {
    const world = new World();
    const { jobId } = world.add(MINUTE_MS, world.start - DAY_MS / 4);
    await world.looks(3);
    assert.equal(world.watch.found().instants, 0);
    const instant = `${jobId}/${world.start - DAY_MS / 8}`;
    world.lost.add(instant);
    await world.looks(1);
    assert.equal(world.watch.found().instants, 1);
    world.lost.delete(instant);
    await world.looks(1);
    assert.equal(world.watch.found().instants, 0);
  });

  it("drops what belongs to a job that was deleted or edited", async () => {
    const world = new World();
    const [deleted, edited] = [world.add(MINUTE_MS, world.start - DAY_MS), world.add(MINUTE_MS, world.start - DAY_MS)];
    for (const { jobId } of [deleted, edited]) world.lost.add(`${jobId}/${world.start - MINUTE_MS}`);
    await world.looks(3);
    assert.equal(world.watch.found().instants, 2);
    edited.updatedAt = world.start;
    await world.looks(1);
    assert.deepEqual(
      world.watch.found().jobs.map(({ name }) => name),
      ["job 0"],
    );
    world.jobs.shift();
    await world.looks(1);
    assert.equal(world.watch.found().instants, 0);
  });

  it("comes to every instant of jobs that fire each second, and reads each of them about once", async () => {
    const world = new World();
    const jobs = Array.from({ length: 30 }, () => world.add(1_000, world.start - DAY_MS));
    world.lost.add(`${jobs[7]?.jobId}/${world.start - 1_000}`);
    await world.looks(100);
    assert.equal(world.watch.found().instants, 1);
    assert.ok((world.watch.found().lookedUntil ?? 0) > world.start);
    // The day before and the time of the looks, and not a day at each look.
    const ever = (30 * (DAY_MS + 1_000_000)) / 1_000;
    assert.ok(world.traces < 2 * ever, `${world.traces} traces were read of ${ever}`);
  });

  it("goes on at the same job after the store was away", async () => {
    const world = new World();
    const { jobId } = world.add(MINUTE_MS, world.start - DAY_MS / 4);
    world.lost.add(`${jobId}/${world.start - MINUTE_MS}`);
    world.isDown = true;
    await world.looks(2);
    assert.equal(world.watch.found().lookedUntil, null);
    world.isDown = false;
    await world.looks(1);
    assert.equal(world.watch.found().instants, 1);
  });

  it("counts a thousand instants, and no more", async () => {
    const world = new World();
    const { jobId } = world.add(MINUTE_MS, world.start - DAY_MS);
    for (let at = world.start - DAY_MS; at < world.start; at += MINUTE_MS) world.lost.add(`${jobId}/${at}`);
    await world.looks(3);
    assert.equal(world.watch.found().instants, 1_000);
  });
});
