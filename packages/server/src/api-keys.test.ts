import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type CreatedApiKey, MainspringError, task, Worker } from "@mainspring/sdk";
import { asked, startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { createKeyInStore } from "./key-in-store.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

/** Time after which a change of a key never reaches a node, in milliseconds. Nodes that are not busy need two seconds at most. */
const NEVER_MS = 30_000;
const { monotonicMs, setTimer } = systemRuntime();
const nothing = () => undefined;

describe("API keys in a cluster", () => {
  let server: TestServer;
  let store: string;
  let first: RunningNode;
  let second: RunningNode;
  let operatorKey: string;
  let operator: Client;
  before(async () => {
    server = await startTestServer();
    store = storeUrl(await server.newDatabase());
    const config = { store, storeSchema: null, dataDir: "" };
    operatorKey = (await createKeyInStore(config, { kind: "OPERATOR", name: "root" })).key;
    [first, second] = [await start(), await start()];
    operator = new Client({ url: first.httpUrl, apiKey: operatorKey });
  });
  after(async () => {
    await Promise.all([first.stop(), second.stop()]);
    await server.stop();
  });

  const start = () =>
    startLocalNode({
      ...{ MAINSPRING_STORE: store, MAINSPRING_BUS: "mesh", MAINSPRING_CLUSTER_SECRET: "the-secret-of-the-cluster" },
      MAINSPRING_BUILTIN_WORKER: "off",
    });
  /** A key that both nodes know. */
  const created = async (key: Parameters<Client["keys"]["create"]>[0]): Promise<CreatedApiKey> => {
    const made = await operator.keys.create(key);
    await within(() => clientOf(made).me());
    return made;
  };
  /** Client of the second node. */
  const clientOf = ({ key }: Pick<CreatedApiKey, "key">) =>
    new Client({ url: second.httpUrl, apiKey: key, retryForMs: 0 });
  const workerOf = (apiKey: string | (() => string), pool: string) =>
    new Worker({
      url: second.grpcAddress,
      pool,
      apiKey,
      warn: nothing,
      tasks: [task({ name: "double", run: (n: number) => 2 * n })],
    });

  it("takes nobody without a key, also on loopback, and shows a caller who it is", async () => {
    for (const { httpUrl: url } of [first, second]) {
      await assert.rejects(new Client({ url, retryForMs: 0 }).listJobs().next(), { code: "UNAUTHENTICATED" });
    }
    const me = await operator.me();
    assert.deepEqual(
      [me.kind, me.tenant, me.scopes.includes("system:admin"), me.pools],
      ["OPERATOR", "default", true, ["*"]],
    );
  });

  it("lets each kind do what it is for, and says which scope it lacks", async () => {
    const reader = clientOf(await created({ kind: "READER", name: "dashboard" }));
    const job = { target: { handler: "double", pool: "gpu-1" }, payload: 1 };
    await assert.rejects(reader.submit(job), { code: "FORBIDDEN", message: /lacks the scope jobs:submit/ });
    await reader.listJobs().next();
    await assert.rejects(reader.keys.list().next(), { code: "FORBIDDEN", message: /tenant:admin/ });
    const metrics = await created({ kind: "METRICS", name: "prometheus" });
    const headers = { authorization: `Bearer ${metrics.key}` };
    assert.equal((await fetch(`${second.httpUrl}/metrics`, { headers })).status, 200);
    await assert.rejects(clientOf(metrics).stats(), { code: "FORBIDDEN", message: /jobs:read/ });
  });

  it("gives rights of operators to nobody who asks without them, and lets a tenant's administrator make its keys", async () => {
    const admin = clientOf(await created({ kind: "TENANT_ADMIN", name: "lead" }));
    await assert.rejects(admin.keys.create({ kind: "OPERATOR", name: "more" }), {
      code: "FORBIDDEN",
      message: /system:admin/,
    });
    const own = await admin.keys.create({ kind: "CLIENT", name: "shop", scopes: ["jobs:submit"] });
    assert.deepEqual(own.scopes, ["jobs:submit"]);
    const seen: string[] = [];
    for await (const { keyId, kind } of admin.keys.list()) {
      seen.push(keyId);
      assert.notEqual(kind, "OPERATOR");
    }
    assert.ok(seen.includes(own.keyId));
    for (const wrong of [
      { kind: "CLIENT", name: "a", scopes: ["worker:serve"] },
      { kind: "CLIENT", name: "a", pools: ["gpu"] },
      { kind: "WORKER", name: "a", expiresAt: "2001-01-01T00:00:00Z" },
      { kind: "WORKER", name: "a\u0000" },
    ] as const) {
      await assert.rejects(operator.keys.create(wrong as never), { code: "BAD_REQUEST" }, JSON.stringify(wrong));
    }
  });

  it("lets a worker serve the pools of its key only", async () => {
    const { key } = await created({ kind: "WORKER", name: "gpus", pools: ["gpu-*"] });
    await assert.rejects(workerOf(key, "mail").start(), {
      code: "WORKER_REFUSED",
      message: /may serve gpu-\*, and not mail/,
    });
    const reader = await created({ kind: "READER", name: "no worker" });
    await assert.rejects(workerOf(reader.key, "gpu-1").start(), { code: "WORKER_REFUSED", message: /worker:serve/ });
    const worker = workerOf(key, "gpu-1");
    await worker.start();
    const { executionId } = await operator.submit({ target: { handler: "double", pool: "gpu-1" }, payload: 21 });
    assert.equal((await operator.getExecution(executionId, { waitSec: 30 })).result, 42);
    await worker.stop();
  });

  it("ends streams, waiting requests and workers of a revoked key at every node", async () => {
    const [shop, fleet] = [
      await created({ kind: "CLIENT", name: "shop" }),
      await created({ kind: "WORKER", name: "fleet" }),
    ];
    const client = clientOf(shop);
    const { executionId } = await client.submit({ target: { handler: "double", pool: "nobody" }, payload: 1 });
    const worker = workerOf(fleet.key, "revoked");
    await worker.start();
    const events = client.follow(executionId, { giveUpAfterSec: 60 })[Symbol.asyncIterator]();
    await events.next();
    const stream = ended(async () => void (await events.next()));
    const waiting = ended(() => client.getExecution(executionId, { waitSec: 60 }));
    await operator.keys.revoke(shop.keyId);
    await operator.keys.revoke(fleet.keyId);
    assert.deepEqual(await Promise.all([stream, waiting]), ["UNAUTHENTICATED", "UNAUTHENTICATED"]);
    await within(async () => {
      const workers = await operator.workers();
      assert.notEqual(workers.find(({ pool }) => pool === "revoked")?.state, "ALIVE");
    });
    await assert.rejects(client.listJobs().next(), { code: "UNAUTHENTICATED" });
    await assert.rejects(operator.keys.rotate(shop.keyId), { code: "CONFLICT", message: /REVOKED/ });
    await worker.stop({ timeoutMs: 0 }).catch(nothing);
  });

  it("changes the key of a worker and of a client while they work", async () => {
    let current = await created({ kind: "WORKER", name: "rotated" });
    const worker = workerOf(() => current.key, "rotated");
    await worker.start();
    const runs = async () => {
      const { executionId } = await operator.submit({ target: { handler: "double", pool: "rotated" }, payload: 2 });
      return (await operator.getExecution(executionId, { waitSec: 30 })).result;
    };
    assert.equal(await runs(), 4);
    const former = current;
    current = await operator.keys.rotate(former.keyId, { overlapSec: 0 });
    assert.deepEqual([current.replaces, current.name], [former.keyId, "rotated"]);
    assert.equal(await runs(), 4);
    assert.equal((await operator.keys.get(former.keyId)).state, "EXPIRED");
    await worker.stop();

    let key = (await created({ kind: "READER", name: "read again" })).key;
    const client = new Client({ url: second.httpUrl, apiKey: async () => key });
    const { keyId } = await client.me();
    const next = await operator.keys.rotate(keyId, { overlapSec: 0 });
    await within(() => assert.rejects(clientOf({ key }).me(), { code: "UNAUTHENTICATED" }));
    key = next.key;
    assert.equal((await client.me()).keyId, next.keyId);
  });

  it("takes a tenant from nobody who may not act for one", async () => {
    const { key } = await created({ kind: "CLIENT", name: "pretender" });
    const asks = async (apiKey: string, tenant: string) =>
      (
        await fetch(`${second.httpUrl}/v1/jobs`, {
          headers: { authorization: `Bearer ${apiKey}`, "mainspring-tenant": tenant },
        })
      ).status;
    assert.deepEqual(
      [await asks(key, "default"), await asks(operatorKey, "default"), await asks(operatorKey, "acme")],
      [403, 200, 404],
    );
  });
});

describe("API keys beside a node of the release before", () => {
  let server: TestServer;
  let database: Awaited<ReturnType<TestServer["newDatabase"]>>;
  const nodes: RunningNode[] = [];
  before(async () => {
    server = await startTestServer();
    database = await server.newDatabase();
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await server.stop();
  });

  const start = async (level?: number) => {
    const common = {
      MAINSPRING_STORE: storeUrl(database),
      MAINSPRING_BUS: "mesh",
      MAINSPRING_CLUSTER_SECRET: "secret-of-a-cluster",
    };
    const settings = { ...common, MAINSPRING_STOP_DELAY_SEC: "0" };
    const node = await startLocalNode(settings, level === undefined ? undefined : { version: "0.0.9", level });
    nodes.push(node);
    return node;
  };

  it("are refused with the name of the node, and keep older programs from the store once there is one", async () => {
    const older = await start(2);
    const newer = await start();
    const client = new Client({ url: newer.httpUrl });
    const config = { store: storeUrl(database), storeSchema: null, dataDir: "" };
    const lacks = /0\.0\.9.*feature level 2 and does not know of API keys in the store/;
    await within(() =>
      assert.rejects(client.keys.create({ kind: "OPERATOR", name: "root" }), { code: "CONFLICT", message: lacks }),
    );
    await assert.rejects(createKeyInStore(config, { kind: "OPERATOR", name: "root" }), {
      name: "StoreUnusable",
      message: /0\.0\.9/,
    });
    await older.stop();
    let key = "";
    await within(async () => {
      key = (await client.keys.create({ kind: "OPERATOR", name: "root" })).key;
    });
    assert.equal((await new Client({ url: newer.httpUrl, apiKey: key }).me()).kind, "OPERATOR");
    const levels = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'api keys'";
    assert.deepEqual(await asked(database, levels), [[3]]);
  });
});

/** Runs `check` until it does not throw, for the time that a change may take. */
async function within(check: () => Promise<unknown>): Promise<void> {
  const untilMs = monotonicMs() + NEVER_MS;
  for (;;) {
    try {
      return void (await check());
    } catch (error) {
      if (monotonicMs() >= untilMs) throw error;
      await new Promise<void>((resolve) => setTimer(20, resolve));
    }
  }
}

async function ended(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (error instanceof MainspringError) return error.code;
    throw error;
  }
  throw new Error("nothing ended it");
}
