import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Logger } from "pino";
import { ManualRuntime, settled } from "../ports/manual-runtime.fixture.ts";
import { type Store, StoreUnavailable } from "../ports/store.ts";
import { followStoreClock } from "./store-clock.ts";

it("says once an hour that the machine's clock is far from the store's, and again after the clock was right", async () => {
  const runtime = new ManualRuntime();
  const said: string[] = [];
  const log = { warn: (_fields: object, message: string) => void said.push(message) } as unknown as Logger;
  let offMs = 60_000;
  const store = { clock: async () => runtime.now() - offMs } as unknown as Store;
  const clock = await followStoreClock(store, runtime, log);
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 2_000) {
      await runtime.advance(2_000);
      await new Promise(setImmediate);
    }
  };
  await pass(1_800_000);
  assert.equal(said.filter((text) => text.startsWith("this machine's clock is far")).length, 1);
  await pass(1_900_000);
  assert.equal(said.filter((text) => text.startsWith("this machine's clock is far")).length, 2);
  offMs = 0;
  await pass(20_000);
  offMs = 60_000;
  await pass(20_000);
  assert.equal(said.filter((text) => text.startsWith("this machine's clock is far")).length, 3);
  clock.stop();
});

it("is asked again at the start if the store does not answer", async () => {
  const runtime = new ManualRuntime();
  const log = { warn: () => undefined } as unknown as Logger;
  let asked = 0;
  const ask = async () => {
    if (asked++ === 0) throw new StoreUnavailable("PostgreSQL did not answer");
    return runtime.now() - 60_000;
  };
  const following = followStoreClock({ clock: ask } as unknown as Store, runtime, log);
  await settled();
  await runtime.advance(1_000);
  const clock = await following;
  assert.ok(Math.abs(clock.runtime.now() - runtime.now() + 60_000) <= 5);
  clock.stop();
});

describe("a store's clock that is set while a node follows it", () => {
  /** A node that follows a store's clock, which the test sets. */
  const scene = async () => {
    const runtime = new ManualRuntime();
    const log = { warn: () => undefined } as unknown as Logger;
    const store = { offMs: 0, clock: async () => runtime.now() + store.offMs };
    const clock = await followStoreClock(store as unknown as Store, runtime, log);
    const leaps: number[] = [];
    clock.onLeap((byMs) => leaps.push(Math.round(byMs)));
    return { runtime, store, clock, leaps };
  };

  it("makes listeners hear of the leap, once and not of small corrections, by as much as `now` moves", async () => {
    const { runtime, store, clock, leaps } = await scene();
    store.offMs = -3_600_000;
    await runtime.advance(10_000);
    assert.deepEqual(leaps, [-3_600_000]);
    store.offMs += 50;
    await runtime.advance(10_000);
    assert.deepEqual(leaps, [-3_600_000]);
    const before = clock.runtime.now() - runtime.now();
    store.offMs = 86_400_000;
    await runtime.advance(10_000);
    assert.equal(leaps.length, 2);
    assert.ok(Math.abs(clock.runtime.now() - runtime.now() - before - (leaps[1] ?? 0)) <= 5);
    clock.stop();
  });

  it("is known as soon as somebody looks, before the next regular question", async () => {
    const { runtime, store, clock, leaps } = await scene();
    store.offMs = -3_600_000;
    await clock.look();
    assert.deepEqual(leaps, [-3_600_000]);
    assert.ok(Math.abs(clock.runtime.now() - runtime.now() + 3_600_000) <= 5);
    clock.stop();
  });

  it("is asked one question at a time, so that no answer comes after a later one", async () => {
    const { runtime, store, clock, leaps } = await scene();
    const answers: PromiseWithResolvers<number>[] = [];
    store.clock = () => {
      const answer = Promise.withResolvers<number>();
      answers.push(answer);
      return answer.promise;
    };
    await runtime.advance(2_000);
    const looked = clock.look();
    await settled();
    assert.equal(answers.length, 1, "the look waits for the regular question");
    answers[0]?.resolve(runtime.now());
    await settled();
    answers[1]?.resolve(runtime.now() - 3_600_000);
    await looked;
    assert.deepEqual([answers.length, leaps], [2, [-3_600_000]]);
    clock.stop();
  });
});
