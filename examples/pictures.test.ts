import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { POOL, pictureTasks, process, type Studio } from "./pictures.ts";

/** A studio that only records its calls. */
function studioWith(made: string[]): Studio {
  const make = async (name: string) => {
    made.push(name);
    return name;
  };
  return { shrink: (picture, width) => make(`${picture}@${width}`), upscale: (picture) => make(`${picture}@large`) };
}

test("with a graphics card all sizes of a picture are made", async () => {
  const tasks = pictureTasks(studioWith([]));
  await using m = await simulate({ tasks: Object.values(tasks), pools: [POOL], capabilities: ["gpu"] });
  const jobs = await process(m.client, tasks, "cat.png", "NORMAL");
  const results = await Promise.all(jobs.map((job) => job.result()));
  assert.deepEqual(results, ["cat.png@160", "cat.png@640", "cat.png@1280", "cat.png@large"]);
});

test("without one the others are made all the same, and what waits says for what", async () => {
  const made: string[] = [];
  const tasks = pictureTasks(studioWith(made));
  await using m = await simulate({ tasks: Object.values(tasks), pools: [POOL] });
  const jobs = await process(m.client, tasks, "cat.png", "NORMAL");
  await m.clock.advance("1s");
  assert.equal(made.length, 3);

  const { reasons } = await m.client.explain(jobs[3]?.executionId ?? "");
  const [first] = reasons;
  assert.deepEqual(first, {
    reason: "NO_WORKER_WITH_CAPABILITY",
    handler: "upscale",
    missing: ["gpu"],
    workersWithHandler: 1,
  });
});

test("what somebody waits for goes before what is made over night", async () => {
  const made: string[] = [];
  const tasks = pictureTasks(studioWith(made));
  await using m = await simulate({ tasks: Object.values(tasks), pools: [POOL], capabilities: ["gpu"], slots: 1 });
  // The pool is paused, so that both jobs are there when the only slot is assigned.
  await m.client.pools.pause(POOL);
  await process(m.client, tasks, "old.png", "LOW");
  await process(m.client, tasks, "new.png", "HIGH");
  await m.clock.advance("1s");
  await m.client.pools.resume(POOL);
  await m.clock.advance("1s");
  assert.equal(made.length, 8);
  assert.deepEqual(
    made.map((name) => name.split("@")[0]),
    [...Array(4).fill("new.png"), ...Array(4).fill("old.png")],
  );
});
