import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualRuntime, settled } from "./ports/manual-runtime.fixture.ts";
import type { RedisFigures } from "./ports/redis-figures.ts";
import { StoreUnavailable } from "./ports/store-errors.ts";
import { RedisStoreWatch } from "./redis-store-watch.ts";

const FIGURES: RedisFigures = {
  ...{ usedBytes: 800, maxBytes: 1_000, refusalShare: 0.9, role: "primary", replicas: 1, lagBytes: 7, generation: 3 },
  historyRows: 40,
};
const KNOWN = { redisStoreInfo: new Map([["ALWAYS", 1]]), redisStoreReplicasRequired: 1 };
const SEEN = {
  ...KNOWN,
  redisStoreRole: new Map([["primary", 1]]),
  ...{ redisStoreUsedBytes: 800, redisStoreMaxBytes: 1_000, redisStoreRefusalShare: 0.9 },
  ...{ redisStoreReplicas: 1, redisStoreReplicaLagBytes: 7, redisStoreGeneration: 3, redisStoreHistoryRows: 40 },
};

/** A watch of a store whose answers the test chooses. */
function watched() {
  const runtime = new ManualRuntime();
  const answers = { looks: 0, figures: async (): Promise<RedisFigures> => FIGURES };
  const store = { figures: () => (answers.looks++, answers.figures()) };
  const watch = new RedisStoreWatch(store, runtime, { store: "REDIS", disk: "ALWAYS", replicas: 1 });
  return { watch, runtime, answers };
}

describe("the watch of a Redis that is the store", () => {
  it("looks at its start and every five seconds, however often the figures are read", async () => {
    const { watch, runtime, answers } = watched();
    watch.start();
    await settled();
    assert.deepEqual(watch.readings(), SEEN);
    assert.deepEqual([watch.readings(), answers.looks], [SEEN, 1]);
    await runtime.advance(15_000);
    assert.equal(answers.looks, 4);
    watch.stop();
    await runtime.advance(60_000);
    assert.equal(answers.looks, 4);
  });

  it("shows no figures of a Redis that does not answer, and shows them again when it does", async () => {
    const { watch, runtime, answers } = watched();
    watch.start();
    await settled();
    answers.figures = () => Promise.reject(new StoreUnavailable("away"));
    await runtime.advance(5_000);
    assert.deepEqual(watch.readings(), KNOWN);
    answers.figures = async () => FIGURES;
    await runtime.advance(5_000);
    assert.deepEqual(watch.readings(), SEEN);
    watch.stop();
  });

  it("shows no figures while a look waits for its answer for long", async () => {
    const { watch, runtime, answers } = watched();
    watch.start();
    await settled();
    answers.figures = () => new Promise<RedisFigures>(() => undefined);
    await runtime.advance(10_000);
    assert.deepEqual(watch.readings(), SEEN);
    await runtime.advance(1);
    assert.deepEqual(watch.readings(), KNOWN);
  });

  it("tells of missing replicas after ten seconds without enough of them, and no longer when enough follow", async () => {
    const { watch, runtime, answers } = watched();
    watch.start();
    await settled();
    answers.figures = async () => ({ ...FIGURES, replicas: 0, lagBytes: null });
    await runtime.advance(14_999);
    assert.equal(watch.missingReplicas(), null, "missing since the look after five seconds");
    await runtime.advance(1);
    assert.deepEqual(watch.missingReplicas(), { follow: 0, required: 1 });
    answers.figures = async () => FIGURES;
    await runtime.advance(5_000);
    assert.equal(watch.missingReplicas(), null);
    watch.stop();
  });

  it("does not tell of replicas that are missing for a moment, nor while Redis does not answer", async () => {
    const { watch, runtime, answers } = watched();
    const lacking = async () => ({ ...FIGURES, replicas: 0, lagBytes: null });
    watch.start();
    for (const figures of [lacking, async () => FIGURES, lacking, async () => FIGURES]) {
      answers.figures = figures;
      await runtime.advance(5_000);
      assert.equal(watch.missingReplicas(), null);
    }
    answers.figures = lacking;
    await runtime.advance(20_000);
    assert.notEqual(watch.missingReplicas(), null);
    answers.figures = () => Promise.reject(new StoreUnavailable("away"));
    await runtime.advance(5_000);
    assert.equal(watch.missingReplicas(), null);
    watch.stop();
  });

  it("leaves out a lag without replicas, and a generation that nobody has begun", async () => {
    const { watch, answers } = watched();
    answers.figures = async () => ({ ...FIGURES, replicas: 0, lagBytes: null, generation: null });
    watch.start();
    await settled();
    const { redisStoreReplicaLagBytes: _, redisStoreGeneration: __, ...seen } = SEEN;
    assert.deepEqual(watch.readings(), { ...seen, redisStoreReplicas: 0 });
    watch.stop();
  });
});
