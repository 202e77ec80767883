import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { LongCommand, mainspring } from "./testing/command.ts";
import { FREE } from "./testing/server.ts";
import { ServerProcess } from "./testing/server-process.ts";

const ECHO = { target: { handler: "echo" }, payload: 1 };
let redis: TestRedis;
before(async () => {
  redis = await startRedis({ settings: DURABLE });
});
after(() => redis?.stop());

/** Address of a store of its own. */
const storeOf = (prefix: string) => `${redis.url}?prefix=${prefix}`;
const settings = { MAINSPRING_STOP_DELAY_SEC: "0" };

/** Asserts that `serve` ends with exit code 78 and these words. */
async function refused(env: Record<string, string>, words: RegExp): Promise<void> {
  const { code, stderr } = await mainspring(["serve"], { env: { ...FREE, ...settings, ...env } });
  assert.equal(code, 78, stderr);
  assert.match(stderr, words);
}

/** Repeats a call that fails. */
function persistently<T>(call: () => Promise<T>): Promise<NonNullable<T>> {
  return until(() => call().catch(() => null)) as Promise<NonNullable<T>>;
}

/** Runs a job. @returns its final state */
async function ranOn(client: Client): Promise<string> {
  const { executionId } = await client.submit(ECHO);
  return (await client.getExecution(executionId, { waitSec: 30 })).state;
}

describe("serve with a Redis as the store", () => {
  it("runs jobs alone, says how durable they are, and refuses what needs a PostgreSQL", async (t) => {
    const MAINSPRING_STORE = storeOf("alone");
    const made = await mainspring(["keys", "create", "--kind", "operator", "--json"], { env: { MAINSPRING_STORE } });
    assert.equal(made.code, 0, made.stderr);
    const { key } = JSON.parse(made.stdout) as { key: string };
    const moved = await mainspring(["store", "move-schema"], { env: { MAINSPRING_STORE } });
    assert.match(moved.stderr, /MAINSPRING_STORE leads to a Redis, which has no schemas: \?prefix=NAME/);
    const server = new ServerProcess({ ...settings, MAINSPRING_STORE });
    t.after(() => server.end("SIGKILL"));
    await server.start();
    await refused({ MAINSPRING_STORE }, /Another Mainspring server \(\S+\) uses this Redis: stop it, or /);
    await refused(
      { MAINSPRING_STORE, MAINSPRING_BUS: "mesh" },
      /that is alone \(\S+\) uses this Redis: start it with /,
    );
    const client = new Client({ url: server.httpUrl, apiKey: key });
    assert.equal(await ranOn(client), "SUCCEEDED");
    assert.deepEqual((await client.stats()).durability, { store: "REDIS", disk: "ALWAYS", replicas: 0 });
    const asked = async (path: string, method = "GET") => {
      const answer = await fetch(server.httpUrl + path, { method, headers: { authorization: `Bearer ${key}` } });
      return [answer.status, ((await answer.json()) as { detail: string }).detail] as const;
    };
    for (const [path, method] of [["/v1/requests"], ["/v1/tenants/default/sources/ROLE/app", "PUT"]] as const) {
      const [status, detail] = await asked(path, method);
      assert.equal(status, 422, detail);
      assert.match(detail, /the store does not serve requests in SQL: /);
    }
  });

  it("goes on when Redis has lost its functions, has no memory, was a replica or was restarted", async (t) => {
    const server = new ServerProcess({ ...settings, MAINSPRING_STORE: storeOf("trouble") });
    t.after(() => server.end("SIGKILL"));
    await server.start();
    const client = new Client({ url: server.httpUrl, retryForMs: 0 });
    const troubles = [
      [() => redis.ask("FUNCTION", "FLUSH"), async () => undefined],
      [() => redis.ask("CONFIG", "SET", "maxmemory", "1mb"), () => redis.ask("CONFIG", "SET", "maxmemory", "512mb")],
      [() => redis.ask("REPLICAOF", "127.0.0.1", "1"), () => redis.ask("REPLICAOF", "NO", "ONE")],
      [() => redis.kill(), () => redis.restart()],
    ] as const;
    for (const [begin, end] of troubles) {
      await begin();
      if (begin !== troubles[0][0]) await assert.rejects(client.submit(ECHO));
      await end();
      assert.equal(await persistently(() => ranOn(client)), "SUCCEEDED");
    }
  });

  it("does not start where Redis writes its file later, unless the durability is relaxed, and warns then", async (t) => {
    const MAINSPRING_STORE = storeOf("relaxed");
    await redis.ask("CONFIG", "SET", "appendfsync", "everysec");
    t.after(() => redis.ask("CONFIG", "SET", "appendfsync", "always"));
    await refused({ MAINSPRING_STORE }, /with appendfsync everysec: appendfsync must be always, /);
    const env = { ...FREE, ...settings, MAINSPRING_STORE, MAINSPRING_REDIS_DURABILITY: "relaxed" };
    const command = new LongCommand(["serve"], env);
    const [, url = ""] = await command.says(/api +(http:\/\/[^/\s]+)[^]*workers/);
    assert.equal((await new Client({ url }).stats()).durability.disk, "RELAXED");
    command.signal("SIGTERM");
    const { code, stdout, stderr } = await command.done;
    assert.equal(code, 0, stderr);
    assert.match(stdout + stderr, /MAINSPRING_REDIS_DURABILITY is relaxed: a crash of Redis/);
  });

  it("waits at its start for a failover to end, and does not start with a replica of a primary that answers", async (t) => {
    const other = await startRedis({ settings: DURABLE });
    t.after(() => other.stop());
    await other.ask("REPLICAOF", "127.0.0.1", "1");
    const command = new LongCommand(["serve"], { ...FREE, ...settings, MAINSPRING_STORE: other.url });
    t.after(() => command.signal("SIGKILL"));
    await command.says(/the node waits for the store, which does not answer yet/);
    await other.promote();
    const [, url = ""] = await command.says(/api +(http:\/\/[^/\s]+)[^]*workers/);
    assert.equal(await persistently(() => ranOn(new Client({ url }))), "SUCCEEDED");
    command.signal("SIGTERM");
    assert.equal((await command.done).code, 0);
    await other.ask("REPLICAOF", "127.0.0.1", `${redis.port}`);
    await until(async () => (await other.ask("INFO", "replication")).includes("master_link_status:up"));
    await refused({ MAINSPRING_STORE: other.url }, /MAINSPRING_STORE leads to a replica of Redis: name the primary/);
  });

  it("does not start for a user who lacks a command or the keys", async () => {
    const user = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "+@all", "-@dangerous", "+info", "+config|get"];
    const MAINSPRING_STORE = `${redis.url.replace("//", "//app:pw@")}?prefix=rights`;
    await redis.ask(...user, "~rights:*", "-xadd");
    await refused(
      { MAINSPRING_STORE },
      /must have a user with the rights .*: it may not call XADD on keys that begin with rights:/,
    );
    await redis.ask(...user, "~other:*");
    await refused({ MAINSPRING_STORE }, /must have a user with the rights /);
  });

  it("goes on with the other nodes of a cluster when a node is killed, with leases in Redis and one leader", async (t) => {
    const cluster = { MAINSPRING_BUS: "mesh", MAINSPRING_LEASES: "store", MAINSPRING_LEADER: "one" };
    const nodes = [1, 2, 3].map(
      () => new ServerProcess({ ...settings, ...cluster, MAINSPRING_STORE: storeOf("three") }),
    );
    t.after(() => Promise.all(nodes.map((node) => node.end("SIGKILL"))));
    for (const node of nodes) await node.start();
    const [first, second] = nodes as [ServerProcess, ServerProcess];
    const client = new Client({ url: second.httpUrl });
    await persistently(() => ranOn(client));
    const { leader, nodes: known, shards } = await client.cluster.status();
    assert.ok(
      shards.every(({ nodeId }) => nodeId === leader),
      "one node owns every shard",
    );
    const { executionId } = await client.submit({ ...ECHO, delayMs: 1_000 });
    const address = known.find(({ nodeId }) => nodeId === leader)?.address;
    const owner = nodes.find(({ grpcAddress }) => grpcAddress === address);
    assert.ok(owner !== undefined);
    const survivor = new Client({ url: (owner === second ? first : second).httpUrl });
    await owner.end("SIGKILL");
    const { state } = await persistently(() => survivor.getExecution(executionId, { waitSec: 30 }));
    assert.equal(state, "SUCCEEDED");
    assert.equal(await persistently(() => ranOn(survivor)), "SUCCEEDED");
  });
});
