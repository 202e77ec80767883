import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { neverHappened } from "./coverage.ts";
import { simulate } from "./simulate.ts";

const small = { hours: 0.2, nodes: 3, workers: 5, jobs: 300 };

describe("the simulation", () => {
  it("is the same from the same seed, and another from another", async () => {
    const tiny = { ...small, hours: 0.05, jobs: 80 };
    const [first, again, other] = [
      await simulate({ seed: 7, ...tiny }),
      await simulate({ seed: 7, ...tiny }),
      await simulate({ seed: 8, ...tiny }),
    ];
    assert.equal(first.violation, null);
    assert.deepEqual(again, first);
    assert.notEqual(other.traceHash, first.traceHash);
  });

  it("really does harm: every kind of fault comes about within a few seeds", async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 6; seed++) {
      const { violation, figures } = await simulate({ seed, ...small });
      assert.equal(violation, null, `seed ${seed}`);
      for (const kind of Object.keys(figures)) seen.add(kind);
    }
    assert.ok(neverHappened(seen, 20).length < 10, String(neverHappened(seen, 20)));
    const kinds = ["SERVER_KILLED", "SERVER_PAUSED", "STORE_DOWN", "WORKER_KILLED", "WORKER_PAUSED"];
    kinds.push("CONNECTION_BROKEN", "CLOCK_SKEWED", "NEVER_ARRIVED", "ANSWER_LOST", "LATE_EFFECT", "SHUT_OUT");
    assert.deepEqual(
      kinds.filter((kind) => !seen.has(kind)),
      [],
    );
  });

  it("names what never happened in a campaign that was long enough", () => {
    const all = neverHappened(new Set(), 20);
    const [first, ...others] = all;
    assert.deepEqual(neverHappened(new Set(others), 20), [first]);
    assert.deepEqual(neverHappened(new Set(), 1), []);
  });

  it("leaves the rest of a plan as it was where a part is left out", async () => {
    const [jobs, recurring, faults] = [new Set<number>(), new Set<number>(), new Set<number>()];
    const nothing = { jobs, recurring, faults, reliableStore: true };
    const { violation, figures } = await simulate({ seed: 7, ...small, only: nothing });
    assert.equal(violation, null);
    assert.deepEqual(
      [figures["SUBMITTED"], figures["FAULT"], figures["STORE_FAULT"]],
      [undefined, undefined, undefined],
    );
    const few = await simulate({ seed: 7, ...small, only: { ...nothing, jobs: new Set([3, 5]), untilMs: 600_000 } });
    assert.ok((few.figures["ACCEPTED"] ?? 0) <= 2);
    const only = { jobs, faults, reliableStore: true };
    const recur = async (untilMs: number) =>
      (await simulate({ seed: 7, ...small, only: { ...only, untilMs } })).figures;
    assert.ok(((await recur(2_400_000))["PLAN_ACCEPTED"] ?? 0) > 0);
    assert.equal((await recur(1))["SUBMITTED"], undefined, "recurring jobs end with the rest");
  });
});
