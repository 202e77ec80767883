import assert from "node:assert/strict";
import { it } from "node:test";
import { DURABLE } from "../../../../../../tools/services/durable-redis.ts";
import { startRedis } from "../../../../../../tools/services/start-redis.ts";
import { FEATURE_LEVEL } from "../../../domain/cluster/feature-level.ts";
import { TENANT_DEFAULTS } from "../../../domain/tenant.ts";
import { auditNote } from "../../../ports/audit.fixture.ts";
import type { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import { StoreUnusable } from "../../../ports/store-errors.ts";
import type { NewApiKey } from "../../../ports/store-keys.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { openRedisStore } from "../redis-store.ts";
import { plantedBugs } from "../testing/planted-bug.ts";

function newKey(scene: Scene): NewApiKey {
  return {
    ...{ id: scene.runtime.uuid(), tenant: "default", kind: "CLIENT", scopes: ["jobs:read"], pools: [] },
    ...{ certificateId: null, name: "n", hint: "h", createdAt: 1, createdBy: "b", expiresAt: null, replaces: null },
    hash: Buffer.alloc(32, 7).toString("base64"),
  };
}

plantedBugs("planted bugs in the functions for keys, tenants, quotas and the audit log", [
  {
    title: "a change does not compare the version that it has read",
    text: "if (call('GET', p .. args[1]) or '0') ~= args[2] then return 0 end",
    planted: "",
    story: async (scene) => {
      const { keys } = scene.store;
      await Promise.all(Array.from({ length: 5 }, () => keys.create(newKey(scene))));
      const versions = (await keys.changedSince(0, 10)).map(({ version }) => version);
      assert.deepEqual(versions, [1, 2, 3, 4, 5]);
    },
  },
  {
    title: "a tenant gets the name of one whose jobs are kept",
    text: "if call('EXISTS', key) == 1 then return -1 end",
    planted: "",
    story: async (scene) => {
      await scene.submitted({ tenant: "gone" });
      const tenant = { ...TENANT_DEFAULTS, name: "gone", createdAt: 1 };
      assert.equal(await scene.store.tenants.create(tenant), "LEFTOVERS");
    },
  },
  {
    title: "the places of other nodes are free",
    text: "others = others + tonumber(count)",
    planted: "",
    story: async (scene) => {
      const ask = { tenant: "acme", quota: "maxWaiting", limit: 3, held: 0, needed: 3, wanted: 3 } as const;
      await scene.store.quotas.takePlaces({ ...ask, node: "a" });
      assert.equal((await scene.store.quotas.takePlaces({ ...ask, node: "b" })).taken, 0);
    },
  },
  {
    title: "the head of a chain stays at its first record",
    text: "if not head or u32(head) < u32(seq) then",
    planted: "if not head then",
    story: async (scene) => {
      const { audit } = scene.store;
      await audit.write([auditNote(), auditNote()]);
      assert.deepEqual(
        (await audit.unsealed()).heads.map(({ seq }) => seq),
        [2],
      );
    },
  },
]);

it("a new key raises the level of a store that has a lower one, and programs of an older level do not open it", async () => {
  const redis = await startRedis({ settings: DURABLE });
  const runtime = systemRuntime();
  const address = { ...(redisAddress(redis.url) as RedisAddress), prefix: "level" };
  const opened = (level: number) => openRedisStore({ address, runtime, node: runtime.uuid(), level });
  const store = await opened(FEATURE_LEVEL);
  await redis.ask("SET", "level:needs_level", `${FEATURE_LEVEL - 1}`);
  await store.keys.create({
    ...{ id: runtime.uuid(), tenant: null, kind: "OPERATOR", scopes: [], pools: [], certificateId: null },
    ...{ name: "n", hint: "h", createdAt: 1, createdBy: "b", expiresAt: null, replaces: null, hash: "" },
  });
  await assert.rejects(opened(FEATURE_LEVEL - 1), (error: Error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, /a program of level 3, and this program has level 2/);
    return true;
  });
  await store.close();
  await redis.stop();
});
