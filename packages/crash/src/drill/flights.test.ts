import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AttemptRecord } from "@mainspring/sdk";
import { type Crash, type Flight, flightFigures, flightOf, missedGoals } from "./flights.ts";

const KILLED_AT = "2026-01-01T00:00:00.000Z";
const crash: Crash = { atMs: Date.parse(KILLED_AT), shards: new Set([3]), builtIn: "builtin-n1", external: "w1" };

function attempt(workerId: string, state: AttemptRecord["state"], startedAt: string | null): AttemptRecord {
  return { attempt: 1, workerId, state, startedAt, finishedAt: KILLED_AT, error: null };
}

function flown(...attempts: AttemptRecord[]) {
  return { executionId: "e", state: "SUCCEEDED" as const, attempts };
}

describe("work in flight at a node that was killed", () => {
  const again = attempt("w2", "SUCCEEDED", "2026-01-01T00:00:00.700Z");

  it("starts again so long after the kill, on a shard that was the node's or on another one", () => {
    const lost = attempt("builtin-n1", "WORKER_LOST", "2025-12-31T23:59:59.000Z");
    assert.deepEqual(flightOf(flown(lost, again), 3, crash), { worker: "BUILT_IN", shard: "TAKEN_OVER", gapMs: 700 });
    const assigned = attempt("w1", "WORKER_LOST", null);
    assert.deepEqual(flightOf(flown(assigned, again), 4, crash), { worker: "EXTERNAL", shard: "KEPT", gapMs: 700 });
  });

  it("is not what had ended there, and not what ran elsewhere", () => {
    assert.equal(flightOf(flown(attempt("w1", "SUCCEEDED", KILLED_AT)), 3, crash), null);
    assert.equal(flightOf(flown(attempt("w3", "WORKER_LOST", KILLED_AT), again), 3, crash), null);
  });

  it("has no gap where nothing began after it", () => {
    assert.equal(flightOf(flown(attempt("w1", "WORKER_LOST", KILLED_AT)), 3, crash)?.gapMs, null);
  });
});

describe("the gaps of many", () => {
  const flight = (worker: Flight["worker"], gapMs: number): Flight => ({ worker, shard: "KEPT", gapMs });

  it("are told by worker and by whose the shard was", () => {
    const figures = flightFigures([flight("BUILT_IN", 400), { ...flight("BUILT_IN", 900), shard: "TAKEN_OVER" }]);
    assert.deepEqual(
      ["builtInCount", "builtInKeptCount", "builtInKeptGapMaxMs", "builtInTakenOverGapP99Ms", "externalCount"].map(
        (name) => figures[name],
      ),
      [2, 1, 400, 900, 0],
    );
  });

  it("reach the goals, or miss one; nothing is known where nothing was in flight", () => {
    assert.deepEqual(missedGoals([flight("BUILT_IN", 1_400), flight("EXTERNAL", 6_900)]), []);
    assert.deepEqual(missedGoals([flight("BUILT_IN", 31_000), flight("EXTERNAL", 6_900)]), [
      "BUILT_IN: 99 of 100 gaps were up to 31000 ms, and are to be below 1500 ms",
    ]);
    assert.match(String(missedGoals([flight("BUILT_IN", 1)])), /^EXTERNAL: nothing was in flight/);
  });
});
