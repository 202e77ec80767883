import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { SCOPES_OF } from "../../domain/api-key.ts";
import { FEATURE_LEVEL, levelOf } from "../../domain/cluster/feature-level.ts";
import type { Incarnation, ShardId } from "../../domain/ids.ts";
import { ownedPool } from "../../domain/pool.ts";
import type { Authenticator, Principal } from "../../ports/authenticator.ts";
import { ALL_SHARDS, takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import type { ToScheduler } from "../../ports/messages.ts";
import { tenantOf } from "../../security/tenant.ts";
import { applyPools, playOwner, startTestApi, type TestApi } from "../api.fixture.ts";
import type { Lacking } from "../feature-gate.ts";

const LEASE_MS = 60_000;
const HALF = ALL_SHARDS.slice(0, 32);
const REST = ALL_SHARDS.slice(32);

describe("a change of a pool", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  let end = () => {};
  afterEach(() => end());
  /** Plays this node's machine. */
  const hear = (heard: (message: ToScheduler, from: Incarnation) => void) => {
    end = playOwner(api.bus, heard);
  };
  const own = (shards: readonly ShardId[], owner = api.bus.node) => takeShards(api.store, shards, owner);
  const lives = (incarnation: Incarnation, level = FEATURE_LEVEL) => {
    const address = `${incarnation}.example:8081`;
    const profile = { incarnation, name: address, address, version: "1.0.0", level, startedAt: 1 };
    return api.leases.renew({ ...profile, roles: ["scheduler"] }, LEASE_MS);
  };
  const pause = async () => {
    const answer = await api.inject({ method: "PUT", url: "/v1/pools/default", payload: { paused: true } });
    const { paused, unconfirmedBy } = answer.json();
    return { code: answer.statusCode, paused, unconfirmedBy };
  };
  const confirmed = { code: 200, paused: true, unconfirmedBy: [] };

  it("is answered with 200 where nobody owns a shard: the next owner reads it", async () => {
    assert.deepEqual(await pause(), confirmed);
  });

  it("is answered with 200 when the owner goes by what is written, and not before", async () => {
    await own(ALL_SHARDS);
    const written: boolean[] = [];
    hear((message, from) => {
      if (message.kind !== "APPLY_POOLS") return;
      void api.store.readPools().then(([pool]) => {
        written.push(pool?.paused === true);
        return applyPools(api, message, from);
      });
    });
    assert.deepEqual(await pause(), confirmed);
    assert.deepEqual(written, [true]);
  });

  it("asks again where the question was lost, and where an owner has not taken over all that is its own", async () => {
    await own(ALL_SHARDS);
    let asked = 0;
    hear((message, node) => {
      if (message.kind !== "APPLY_POOLS") return;
      asked++;
      if (asked === 1) return;
      if (asked > 2) return void applyPools(api, message, node);
      api.bus.send({ node, role: "api" }, { kind: "POOLS_APPLIED", request: message.request, shards: [] });
    });
    assert.deepEqual(await pause(), confirmed);
    assert.equal(asked, 3);
  });

  it("does not believe what an owner said of earlier epochs of its shards", async () => {
    const epochs = await own(ALL_SHARDS);
    await own(HALF);
    let asked = 0;
    hear((message, node) => {
      if (message.kind !== "APPLY_POOLS") return;
      if (++asked > 1) return void applyPools(api, message, node);
      const shards = ALL_SHARDS.map((shard) => ({ shard, epoch: epochs[shard] as number }));
      api.bus.send({ node, role: "api" }, { kind: "POOLS_APPLIED", request: message.request, shards });
    });
    assert.deepEqual(await pause(), confirmed);
    assert.equal(asked, 2);
  });

  it("is answered with 202 and the owner's name where one of them is silent", async () => {
    await own(HALF);
    await own(REST, "silent");
    await lives("silent");
    hear((message, from) => void applyPools(api, message, from));
    const unconfirmedBy = [{ nodeId: "silent", address: "silent.example:8081" }];
    assert.deepEqual(await pause(), { code: 202, paused: true, unconfirmedBy });
  });

  it("is answered with 200 when another has taken over from a silent owner, and goes by it", async () => {
    await own(HALF);
    await own(REST, "silent");
    let asked = 0;
    hear((message, from) => {
      if (message.kind !== "APPLY_POOLS") return;
      void (async () => {
        if (++asked === 1) await own(REST);
        await applyPools(api, message, from);
      })();
    });
    assert.deepEqual(await pause(), confirmed);
  });

  it("is answered with 202 at once where an owner of an older level would not know the question", async () => {
    await own(HALF);
    await own(REST, "older");
    await lives("older", levelOf("POOL_CONFIRMATIONS") - 1);
    let asked = 0;
    hear((message, from) => {
      if (message.kind === "APPLY_POOLS") asked++;
      void applyPools(api, message, from);
    });
    const unconfirmedBy = [{ nodeId: "older", address: "older.example:8081" }];
    assert.deepEqual(await pause(), { code: 202, paused: true, unconfirmedBy });
    assert.equal(asked, 1);
  });

  it("to a headroom is refused while a node would give every slot away, and other changes are not", async () => {
    const older = { address: "old.example:8081", version: "0.0.9", level: levelOf("POOL_HEADROOM") - 1 };
    const lacking: Lacking = (feature) => (feature === "POOL_HEADROOM" ? older : null);
    const app = await api.another({ apiKey: null }, lacking);
    try {
      const set = (payload: object) => app.inject({ method: "PUT", url: "/v1/pools/roomy", payload });
      const refused = await set({ headroom: 10 });
      assert.equal(refused.statusCode, 409);
      assert.match(
        refused.json().detail,
        /old.example:8081 .*level 2 and does not know of headroom of a pool: bring every node to level 3/,
      );
      // The owners of the tests before hear no question of this server, so none of them confirms a change.
      for (const payload of [{ headroom: 0 }, { strategy: "FIFO" }]) {
        const changed = await set(payload);
        assert.deepEqual([changed.statusCode, changed.json().headroom], [202, 0]);
      }
    } finally {
      await app.close();
    }
  });

  it("of a tenant is refused while a node does not know owned pools, as are keys of its workers, and keys that require certificates", async () => {
    const principal: Principal = {
      ...{ keyId: "key", source: "STORE", kind: "TENANT_ADMIN", tenant: tenantOf("acme") },
      ...{ scopes: new Set(SCOPES_OF.TENANT_ADMIN), pools: [] },
    };
    const nothing = () => undefined;
    const authenticator: Authenticator = {
      ...{ isOpen: false, judge: () => principal, actingFor: () => null, stateOf: () => "ACTIVE" },
      ...{ judgeAgain: () => null, hold: () => nothing },
    };
    let isOld = true;
    const older = { address: "old.example:8081", version: "0.0.9", level: 2 };
    const unknown: readonly string[] = ["OWNED_POOLS", "WORKER_CERTIFICATES"];
    const lacking: Lacking = (feature) => (isOld && unknown.includes(feature) ? older : null);
    const app = await api.another({ apiKey: null }, lacking, { authenticator });
    try {
      const set = () => app.inject({ method: "PUT", url: "/v1/pools/gpu", payload: { strategy: "FIFO" } });
      const payload = { kind: "WORKER", name: "worker" };
      const refused = [await set(), await app.inject({ method: "POST", url: "/v1/api-keys", payload })];
      for (const answer of refused) {
        assert.equal(answer.statusCode, 409);
        const { detail } = answer.json();
        assert.match(detail, /old.example:8081 .*level 2 and does not know of pools and workers of tenants/);
      }
      const certified = { ...payload, requireCert: true };
      const tooEarly = await app.inject({ method: "POST", url: "/v1/api-keys", payload: certified });
      assert.equal(tooEarly.statusCode, 409);
      assert.match(tooEarly.json().detail, /level 2 and does not know of keys whose workers need a certificate/);
      assert.deepEqual(await api.store.tenants.pools(), []);
      isOld = false;
      // The owners of the tests before hear no question of this server, so none of them confirms the change.
      assert.equal((await set()).statusCode, 202);
      assert.deepEqual(await api.store.tenants.pools(), [ownedPool("acme", "gpu")]);
    } finally {
      await app.close();
    }
  });
});
