import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { imagePipeline, makeImages } from "./image-pipeline.ts";

async function stage(t: TestContext, count: number, broken: number[]) {
  const folder = await mkdtemp(join(tmpdir(), "mainspring-images-"));
  t.after(() => rm(folder, { recursive: true }));
  await makeImages(folder, count, broken);
  const m = await simulate({ workflows: [imagePipeline] });
  t.after(() => m.stop());
  return { folder, m };
}

/** Head of a PGM file, and the mean of the pixels in the square of one thumbnail. */
async function sheetOf(folder: string) {
  const bytes = await readFile(join(folder, "contact-sheet.pgm"));
  const [head = "", width = ""] = /^P5\n(\d+) \d+\n255\n/.exec(bytes.toString("latin1", 0, 40)) ?? [];
  const pixels = bytes.subarray(head.length);
  const brightness = (place: number) => {
    let sum = 0;
    const [left, top] = [(place % 40) * 16, Math.floor(place / 40) * 16];
    for (let y = 0; y < 16; y++) for (let x = 0; x < 16; x++) sum += pixels[(top + y) * Number(width) + left + x] ?? 0;
    return Math.round(sum / 256);
  };
  return { head, size: pixels.length, brightness };
}

test("every image is made small, and the sheet has them in their order, without those that are broken", async (t) => {
  const { folder, m } = await stage(t, 85, [3, 41]);
  const run = await imagePipeline.submit(m.client, { folder });
  const { images, broken, brightest } = await run.result();
  assert.deepEqual([images, broken], [83, ["0003.ppm", "0041.ppm"]]);
  const { head, size, brightness } = await sheetOf(folder);
  assert.deepEqual([head, size], ["P5\n640 48\n255\n", 640 * 48]);
  const seen: number[] = [];
  for await (const { item, state, result } of m.client.workflows.results<{ brightness: number }>(
    run.workflowId,
    "thumbnails",
  )) {
    assert.equal(brightness(item), result?.brightness ?? 0);
    assert.equal(state, [3, 41].includes(item) ? "DEAD" : "SUCCEEDED");
    seen.push(result?.brightness ?? 0);
  }
  assert.equal(seen.length, 85);
  assert.ok(new Set(seen).size > 10, "the images differ");
  assert.equal(brightest.brightness, Math.max(...seen));
  assert.equal(m.failures.length, 2, "a broken image is tried once");
});

test("too many broken images end the run, and a retry reads only the images that are missing", async (t) => {
  const broken = [0, 1, 2, 3, 4, 5];
  const { folder, m } = await stage(t, 20, broken);
  const run = await imagePipeline.submit(m.client, { folder });
  await assert.rejects(run.result(), /node thumbnails is DEAD: 6 of its items are DEAD, and it tolerates 5$/);
  await makeImages(folder, 20);
  const done = new Set<number>();
  for await (const { item, state } of m.client.workflows.results(run.workflowId, "thumbnails"))
    if (state === "SUCCEEDED") done.add(item);
  const retried = await run.retry();
  assert.equal((await retried.result()).images, 20);
  for await (const { item } of m.client.workflows.items(retried.workflowId, "thumbnails"))
    assert.ok(!done.has(item), `the item ${item} had succeeded`);
});

test("a folder without images ends the run at once", async (t) => {
  const { folder, m } = await stage(t, 0, []);
  const run = await imagePipeline.submit(m.client, { folder });
  await assert.rejects(run.result(), /node list is DEAD: there are no \.ppm files in/);
});
