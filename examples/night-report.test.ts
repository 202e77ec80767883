import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { FencedTable, nightTasks, runNight } from "./night-report.ts";

const NIGHT = { day: "2026-03-01", shops: ["Oslo", "Rome", "Lima"] };

test("a shop that does not answer is asked again, the others are not", async () => {
  const asked: string[] = [];
  const steps = nightTasks(async (_day, shop) => {
    asked.push(shop);
    if (shop === "Rome" && asked.length < 4) throw new Error("Rome does not answer");
    return 100;
  }, new FencedTable());
  await using m = await simulate({ tasks: Object.values(steps) });

  assert.equal(await runNight(m.client, steps, NIGHT), 300);
  assert.deepEqual(asked, ["Oslo", "Rome", "Rome", "Rome", "Lima"]);
});

test("an attempt that timed out cannot replace what its successor has written", async () => {
  const first = Promise.withResolvers<number>();
  let calls = 0;
  const sales = new FencedTable();
  // The first call hangs, and ignores the signal to stop.
  const steps = nightTasks(() => (++calls === 1 ? first.promise : Promise.resolve(200)), sales);
  await using m = await simulate({ tasks: Object.values(steps) });

  assert.equal(await runNight(m.client, steps, { ...NIGHT, shops: ["Oslo"] }), 200);
  first.resolve(7);
  await m.clock.advance("1s");
  assert.equal(sales.read("2026-03-01/Oslo"), 200);
});

test("a night that is run twice at once, and once more on the next day, is run once", async () => {
  let calls = 0;
  const steps = nightTasks(async () => ++calls, new FencedTable());
  await using m = await simulate({ tasks: Object.values(steps) });

  const totals = await Promise.all([runNight(m.client, steps, NIGHT), runNight(m.client, steps, NIGHT)]);
  assert.deepEqual(totals, [6, 6]);
  await m.clock.advance("1 day");
  assert.equal(await runNight(m.client, steps, NIGHT), 6);
  assert.equal(calls, 3);
});
