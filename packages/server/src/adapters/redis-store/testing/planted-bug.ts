import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DURABLE } from "../../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../../tools/services/start-redis.ts";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { LIBRARY } from "../library.ts";
import { openRedisStore } from "../redis-store.ts";

/** A bug in the functions: a text of the library, the text that replaces it, and a story that must fail with it. */
export interface PlantedBug {
  title: string;
  text: string;
  planted: string;
  story: (scene: Scene, place: Place) => Promise<void>;
}

/** Redis of a story. */
export interface Place {
  redis: TestRedis;
  /** First part of the names of the store's keys. */
  prefix: string;
}

/** Tests that the story of each bug fails with it, and passes without it. */
export function plantedBugs(title: string, bugs: readonly PlantedBug[]): void {
  describe(title, () => {
    const runtime = systemRuntime();
    let redis: TestRedis;
    let stores = 0;
    before(async () => {
      redis = await startRedis({ settings: DURABLE });
    });
    after(() => redis?.stop());

    const told = async (library: string, story: PlantedBug["story"]) => {
      const prefix = `bug-${stores++}`;
      const address = { ...(redisAddress(redis.url) as RedisAddress), prefix };
      const store = await openRedisStore({ address, runtime, node: runtime.uuid(), library });
      try {
        const scene = await Scene.open({ store, runtime, close: () => store.close() });
        await story(scene, { redis, prefix: `${prefix}:` });
      } finally {
        await store.close();
      }
    };

    for (const { title: bug, text, planted, story } of bugs)
      it(`${bug}: its story fails, and passes without it`, async () => {
        assert.equal(LIBRARY.split(text).length, 2, "the library has the text once");
        await told(LIBRARY, story);
        await assert.rejects(told(LIBRARY.replace(text, planted), story), assert.AssertionError);
      });
  });
}
