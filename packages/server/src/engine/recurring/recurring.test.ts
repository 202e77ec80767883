import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import { MINUTE, recurringJob } from "../testing/recurring.ts";
import { RecurringWorld } from "../testing/recurring-world.ts";
import { only, ordersOf, START } from "../testing/story.ts";

const EVERY_7_S = { type: "INTERVAL", everyMs: 7_000, mode: "FIXED_RATE" } as const;

describe("a recurring job in its owner's memory", () => {
  it("is there when its time is near, fires in one commit with its plan, and leaves", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob());
    world.at(49_999);
    assert.equal(world.story.state.plans.byId.size, 0);
    world.story.worker("w1");
    world.at(50_000);
    assert.equal(world.story.state.plans.timers.earliest(), START + MINUTE);
    world.at(MINUTE);
    const row = only(world.plans.created);
    assert.deepEqual([row.scheduledAt, row.dueAt, row.jobVersion], [START + MINUTE, START + MINUTE, 1]);
    assert.equal(only(world.running).executionId, row.id);
    assert.equal(world.story.state.plans.byId.size, 0, "the next instant is a minute away");
    world.finish().rest();
    assert.equal(world.plans.jobs.get(job.jobId)?.revision, 2, "its end concerns the plan no more");
    world.at(2 * MINUTE);
    assert.deepEqual(world.ledger(job), { ran: [MINUTE, 2 * MINUTE], skipped: [] });
  });

  it("starts nothing before the commit that made it is answered", () => {
    const world = new RecurringWorld();
    world.plans.insert(recurringJob());
    world.story.worker("w1");
    world.at(55_000);
    world.story.later(5_000);
    world.send().look();
    assert.equal(world.story.state.entries.size, 0);
    assert.equal(world.land().story.state.entries.size, 1);
  });

  it("is not fired again by what a look had seen before", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob({ overlap: "ALLOW" }));
    world.at(MINUTE - 1);
    const plans = world.plans.due(START + MINUTE);
    const { mark } = world;
    world.story.later(1);
    world.send().story.tell({ kind: "READ_PLANS", plans, isBounded: true, ...mark });
    world.land().rest();
    assert.deepEqual(world.ledger(job).ran, [MINUTE]);
  });
});

describe("an instant that waits for the one before it", () => {
  const busy = (overlap: "BUFFER_ONE" | "CANCEL_PREVIOUS") => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob({ overlap }));
    world.story.worker("w1", { slots: 5 });
    world.at(MINUTE).at(2 * MINUTE);
    return { world, job };
  };

  it("fires in the commit that writes the end of that one", () => {
    const { world, job } = busy("BUFFER_ONE");
    assert.deepEqual(world.ledger(job).ran, [MINUTE]);
    world.finish().rest();
    assert.deepEqual(world.ledger(job).ran, [MINUTE, 2 * MINUTE]);
  });

  it("has it cancelled where the newest counts, also by the next owner", () => {
    const { world, job } = busy("CANCEL_PREVIOUS");
    world.crash(true);
    world.rest();
    assert.deepEqual(world.ledger(job).ran, [MINUTE, 2 * MINUTE]);
    const [first] = world.plans.created;
    assert.equal(world.store.rows.get(first?.id ?? "")?.state, "CANCELLED");
  });

  it("tells the worker of the one before to stop", () => {
    const world = new RecurringWorld();
    world.plans.insert(recurringJob({ overlap: "CANCEL_PREVIOUS" }));
    world.story.worker("w1");
    world.at(MINUTE);
    world.story.later(MINUTE - 10_000);
    world.land().look();
    const order = only(ordersOf(world.story.later(10_000).batch).filter(({ kind }) => kind === "CANCEL"));
    assert.ok(order.kind === "CANCEL" && order.reason === "REQUESTED");
  });

  it("cancels what nobody had started, wherever it is", () => {
    const world = new RecurringWorld();
    const policy = { ...DEFAULT_POLICY, retry: { ...DEFAULT_POLICY.retry, initialDelayMs: 3_000_000, jitter: false } };
    const job = world.plans.insert(recurringJob({ overlap: "CANCEL_PREVIOUS" }, { policy }));
    world.story.worker("w1");
    world.at(MINUTE).finish(undefined, "FAILED").rest();
    assert.equal(world.story.state.entries.size, 0, "its backoff is long");
    world.at(2 * MINUTE);
    assert.deepEqual(world.ledger(job), { ran: [MINUTE, 2 * MINUTE], skipped: [] });
  });
});

describe("commands for a plan", () => {
  it("are applied when the job was read, once, and in their order", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob());
    world.at(10_000);
    world
      .order(job, { kind: "PAUSE", at: START + 10_000 })
      .order(job, { kind: "RESUME", at: START + 10_001, catchUp: false });
    world.at(20_000);
    assert.deepEqual([world.outcomes, world.commands.length], [["PLANNED", "PLANNED"], 0]);
    assert.deepEqual(world.plans.jobs.get(job.jobId)?.plan.state, "ACTIVE");
  });

  it("see an edit that came with them", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob());
    world.at(55_000);
    world.plans.edit(job.jobId, { handler: "other" });
    const { recurrence: rule } = job.definition;
    assert.ok(rule !== null);
    world
      .order(job, { kind: "LOOK", former: { version: 1, rule, until: START + 55_000 } })
      .at(56_000)
      .at(MINUTE);
    assert.deepEqual([only(world.plans.created).handler, only(world.plans.created).jobVersion], ["other", 2]);
  });

  it("end with the job", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob());
    world.at(55_000);
    world.plans.delete(job.jobId);
    world.at(MINUTE);
    assert.deepEqual([world.plans.created, world.store.rows.size, world.story.state.plans.byId.size], [[], 0, 0]);
    assert.deepEqual(world.order(job, { kind: "LOOK" }).at(MINUTE + 1).outcomes, ["NOT_PLANNED"]);
  });

  it("backfill what has not run, so many at once", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob({ times: EVERY_7_S, misfire: "SKIP" }));
    world.story.worker("w1", { slots: 5 });
    world.at(70_000);
    while (world.running.length > 0) world.finish().rest();
    world.order(job, { kind: "BACKFILL", since: START + 1, until: START + 36_000, limit: 2 }).at(70_001);
    assert.equal(world.running.length, 2);
    while (world.running.length > 0) world.finish().rest();
    const { ran } = world.ledger(job);
    assert.deepEqual(
      ran.toSorted((a, b) => a - b),
      [7_000, 14_000, 21_000, 28_000, 35_000],
      "14 s had run before",
    );
    assert.deepEqual(world.plans.jobs.get(job.jobId)?.plan.catchUps, []);
  });
});

describe("very many at one instant", () => {
  it("go out in batches that stay small, with memory bounded", () => {
    const world = new RecurringWorld({ plans: 500, batchPlanRows: 100, stepInstants: 250 });
    for (let i = 0; i < 1_200; i++) world.plans.insert(recurringJob());
    world.at(55_000);
    assert.equal(world.story.state.plans.byId.size, 250, "one flow has as much room as it leaves to others");
    world.story.now = START + MINUTE;
    let batches = 0;
    while (world.plans.created.length < 1_200) {
      assert.ok(++batches < 100, `${world.plans.created.length} were born`);
      world.look();
      assert.ok(world.story.batch.planRows <= 100 && world.story.state.plans.byId.size <= 1_200);
      world.send().read().land();
    }
    assert.equal(new Set(world.plans.created.map(({ jobId }) => jobId)).size, 1_200);
  });

  for (const [whose, of] of [
    ["pool", () => recurringJob({}, { pool: "herd" })],
    ["tenant", () => ({ ...recurringJob(), tenant: "herd" })],
  ] as const) {
    it(`do not hold up a few of another ${whose} that fire at the same instant`, () => {
      const world = new RecurringWorld({ plans: 500, batchPlanRows: 100, stepInstants: 250 });
      for (let i = 0; i < 1_200; i++) world.plans.insert(of());
      const quiet = Array.from({ length: 5 }, () => world.plans.insert(recurringJob()));
      world.at(55_000);
      world.story.later(5_000);
      world.send().land();
      const fired = new Set(world.plans.created.map(({ jobId }) => jobId));
      assert.deepEqual([quiet.filter(({ jobId }) => fired.has(jobId)).length, fired.size], [5, 100]);
    });
  }
});
