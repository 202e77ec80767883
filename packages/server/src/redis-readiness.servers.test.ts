import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";

const LOCAL = {
  ...{ MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" },
  ...{ MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_STOP_DELAY_SEC: "0", MAINSPRING_REDIS_REPLICAS: "1" },
};

describe("a node whose Redis must have a replica", () => {
  let redis: TestRedis;
  let replica: TestRedis;
  let node: RunningNode;
  before(async () => {
    redis = await startRedis({ settings: DURABLE });
    replica = await startRedis({ settings: DURABLE, replicaOf: redis.port });
    node = await startNode(loadConfig({ ...LOCAL, MAINSPRING_STORE: redis.url }));
  });
  after(async () => {
    await node?.stop();
    await Promise.all([redis?.stop(), replica?.stop()]);
  });

  /** Value of a figure of the Redis; null: there is none. */
  const figure = async (name: string) => {
    const text = await (await fetch(`${node.httpUrl}/metrics`)).text();
    const value = new RegExp(`^mainspring_redis_store_${name} (\\S+)`, "m").exec(text)?.[1];
    return value === undefined ? null : Number(value);
  };
  /** Status of the answer of /readyz, its durability, and the checks that fail. */
  const readiness = async () => {
    const answer = await fetch(`${node.httpUrl}/readyz`);
    const { durability, checks } = (await answer.json()) as {
      durability: object;
      checks: { name: string; ok: boolean; detail: string }[];
    };
    return { status: answer.status, durability, failing: checks.filter(({ ok }) => !ok) };
  };
  const isReady = async () => ((await readiness()).status === 200 ? true : null);

  it("shows memory, role, replicas and generation as figures, and the durability with its readiness", async () => {
    await until(isReady);
    await until(async () => ((await figure("replicas")) === 1 ? true : null));
    assert.deepEqual((await readiness()).durability, { store: "REDIS", disk: "ALWAYS", replicas: 1 });
    assert.equal(await figure("max_bytes"), 512 * 1024 * 1024);
    assert.ok(((await figure("used_bytes")) ?? 0) > 100_000);
    const named = ['role{role="primary"}', 'info{durability="ALWAYS"}', "replicas_required"];
    for (const name of named) assert.equal(await figure(name), 1, name);
    assert.deepEqual([await figure("refusal_share"), await figure("generation")], [0.9, 0]);
    assert.notEqual(await figure("replica_lag_bytes"), null);
  });

  it("is not ready while the replica is gone, says so, and is ready when it follows again", async () => {
    await replica.kill();
    const failing = await until(async () => {
      const found = (await readiness()).failing.find(({ name }) => name === "replicas");
      return found ?? null;
    });
    assert.match(failing.detail, /^0 of the 1 replicas that MAINSPRING_REDIS_REPLICAS asks for follow Redis/);
    assert.equal(await figure("replicas"), 0);
    assert.equal((await fetch(`${node.httpUrl}/healthz`)).status, 200);
    await replica.restart();
    await until(isReady);
  });

  it("shows no figures of a Redis that is gone", async () => {
    await redis.kill();
    await until(async () => ((await figure("used_bytes")) === null ? true : null));
    assert.deepEqual([await figure("replicas"), await figure("generation")], [null, null]);
    assert.equal(await figure("replicas_required"), 1, "a figure of the settings");
    await redis.restart();
    await until(async () => ((await figure("used_bytes")) !== null ? true : null));
  });
});
