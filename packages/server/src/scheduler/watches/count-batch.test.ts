import assert from "node:assert/strict";
import { it } from "node:test";
import { recurringJob } from "../../engine/testing/recurring.ts";
import { RecurringWorld } from "../../engine/testing/recurring-world.ts";
import { only, START } from "../../engine/testing/story.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { countBatch } from "./count-batch.ts";

const EVERY_7_S = { type: "INTERVAL", everyMs: 7_000, mode: "FIXED_RATE" } as const;

it("counts what a backfill makes as late from then on, and not as planned once more", () => {
  const world = new RecurringWorld();
  const times = { times: EVERY_7_S, misfire: "SKIP", misfireGraceMs: 0 } as const;
  const job = world.plans.insert(recurringJob(times));
  world.story.now += 40_000;
  assert.deepEqual(counted(world.look().read()), ["MISFIRE 5"]);
  world.rest();
  world.order(job, { kind: "BACKFILL", since: START + 1, until: START + 15_000, limit: 1 });
  world.story.now += 1_000;
  world.look().read().send().land().read().read();
  const created = [...world.story.batch.shards.values()].flatMap(({ plans }) => only([...plans.values()]).created);
  assert.equal(only(created).trigger, "BACKFILL");
  assert.deepEqual(counted(world), []);
  world.rest().crash(true);
  world.story.worker("w1");
  world.story.now += 2_000;
  world.rest();
  const [backfilled] = world.running;
  assert.equal(backfilled?.scheduledAt, START + 7_000);
  world.story.started(only(world.running));
  assert.deepEqual(counted(world), ["late by 2000 ms"]);
});

it("counts as late what fires later than the grace of its own job, and nothing else", () => {
  for (const [misfireGraceMs, outcome] of [
    [2_000, "LATE"],
    [120_000, "ON_TIME"],
  ] as const) {
    const world = new RecurringWorld();
    const times = { times: EVERY_7_S, misfire: "FIRE_ONCE", misfireGraceMs, maxFires: 1 } as const;
    world.plans.insert(recurringJob(times));
    world.story.now += 7_000 + 5_000;
    world.look().read();
    assert.deepEqual(counted(world), [`${outcome} 1`], `a grace of ${misfireGraceMs} ms`);
  }
});

function counted({ story }: RecurringWorld): string[] {
  const seen: string[] = [];
  const metrics = {
    lateness: (_: string, ms: number) => seen.push(`late by ${ms} ms`),
    planned: (outcome: string, count: number) => seen.push(`${outcome} ${count}`),
  } as unknown as Metrics;
  countBatch(metrics, story.batch);
  return seen;
}
