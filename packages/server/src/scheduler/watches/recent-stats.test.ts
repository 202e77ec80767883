import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { delayQuantile } from "../../domain/delay-buckets.ts";
import type { Metrics } from "../../ports/metrics.ts";
import { RecentStats } from "./recent-stats.ts";

describe("what a scheduler has seen lately", () => {
  it("holds the lateness of the last minute or two, and what has finished", () => {
    let nowMs = 0;
    const told: string[] = [];
    const metrics = {
      lateness: (pool: string, ms: number) => told.push(`${pool} ${ms}`),
      planned: () => undefined,
      finished: (state: string, count: number) => told.push(`${state} ${count}`),
    } as unknown as Metrics;
    const runtime = { monotonicMs: () => nowMs } as never;
    const book = new RecentStats(runtime);
    const beside = book.beside(metrics);
    beside.lateness("default", 100);
    nowMs = 70_000;
    beside.lateness("default", 0);
    assert.notEqual(delayQuantile(book.lateness(), 1), 0, "the minute before still counts");
    nowMs = 140_000;
    assert.equal(delayQuantile(book.lateness(), 1), 0);
    nowMs = 400_000;
    assert.equal(delayQuantile(book.lateness(), 1), null);
    beside.planned("OVERLAP", 2);
    beside.planned("OVERLAP", 1);
    assert.deepEqual(book.planned(), [{ outcome: "OVERLAP", count: 3 }]);
    beside.finished("DEAD", 2);
    beside.finished("DEAD", 1);
    assert.deepEqual(book.finished(), [{ state: "DEAD", count: 3 }]);
    assert.deepEqual(told, ["default 100", "default 0", "DEAD 2", "DEAD 1"]);
  });
});
