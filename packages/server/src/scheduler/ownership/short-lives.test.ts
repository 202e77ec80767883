import assert from "node:assert/strict";
import { it } from "node:test";
import { ShortLives } from "./short-lives.ts";

it("builds the next machine at once after one that had lived, and ever later after those that die at once", () => {
  const lives = new ShortLives();
  const waits = [5_000, 20, 20, 20, 20, 20, 20, 5_000, 20].map((livedMs, index) => {
    lives.started(index * 10_000);
    return lives.died(index * 10_000 + livedMs);
  });
  assert.deepEqual(waits, [0, 100, 200, 400, 800, 1_000, 1_000, 0, 100]);
});
