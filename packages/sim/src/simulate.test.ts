import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { simulate } from "./simulate.ts";

const small = { hours: 0.2, workers: 5, jobs: 300 };

describe("the simulation", () => {
  it("is the same from the same seed, and another from another", async () => {
    const [first, again, other] = [
      await simulate({ seed: 7, ...small }),
      await simulate({ seed: 7, ...small }),
      await simulate({ seed: 8, ...small }),
    ];
    assert.equal(first.violation, null);
    assert.deepEqual(again, first);
    assert.notEqual(other.traceHash, first.traceHash);
  });

  it("really does harm: every kind of fault comes about within a few seeds", async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 12; seed++) {
      const { violation, figures } = await simulate({ seed, ...small });
      assert.equal(violation, null, `seed ${seed}`);
      for (const kind of Object.keys(figures)) seen.add(kind);
    }
    const kinds = ["SERVER_KILLED", "SERVER_PAUSED", "STORE_DOWN", "WORKER_KILLED", "WORKER_PAUSED"];
    kinds.push("CONNECTION_BROKEN", "CLOCK_SKEWED", "NEVER_ARRIVED", "ANSWER_LOST", "LATE_EFFECT", "SHUT_OUT");
    assert.deepEqual(
      kinds.filter((kind) => !seen.has(kind)),
      [],
    );
  });

  it("notices a store that takes commits of older epochs", async () => {
    const verdict = await simulate({ seed: 46, hours: 1, workers: 10, jobs: 1_000, bugs: { noEpochCheck: true } });
    assert.match(verdict.violation ?? "", /took a commit of epoch/);
  });

  it("notices a store that mixes two versions of a job", async () => {
    const verdict = await simulate({ seed: 1, hours: 1, workers: 10, jobs: 1_000, bugs: { newestPayload: true } });
    assert.match(verdict.violation ?? "", /is a mixture|, and version \d+ is /);
  });
});
