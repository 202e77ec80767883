import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type CreatedApiKey, task, Worker } from "@mainspring/sdk";
import { startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { untilDone } from "./adapters/system/until.fixture.ts";
import { createKeyInStore } from "./key-in-store.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

describe("tenants of a cluster", () => {
  let server: TestServer;
  let first: RunningNode;
  let second: RunningNode;
  let operator: Client;
  let operatorKey: string;
  let worker: Worker;
  /** Executions that the worker has started, by the payload. */
  const started: string[] = [];
  before(async () => {
    server = await startTestServer();
    const store = storeUrl(await server.newDatabase());
    operatorKey = (
      await createKeyInStore({ store, storeSchema: null, dataDir: "" }, { kind: "OPERATOR", name: "root" })
    ).key;
    const start = () =>
      startLocalNode({
        ...{ MAINSPRING_STORE: store, MAINSPRING_BUS: "mesh", MAINSPRING_CLUSTER_SECRET: "the-secret-of-the-cluster" },
        MAINSPRING_BUILTIN_WORKER: "off",
      });
    [first, second] = [await start(), await start()];
    operator = new Client({ url: first.httpUrl, apiKey: operatorKey });
    const note = task({ name: "note", run: (text: string) => void started.push(text) });
    worker = new Worker({ url: second.grpcAddress, apiKey: operatorKey, tasks: [note], warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker.stop();
    await Promise.all([first.stop(), second.stop()]);
    await server.stop();
  });

  const clientOf = ({ key }: Pick<CreatedApiKey, "key">) =>
    new Client({ url: second.httpUrl, apiKey: key, retryForMs: 0 });
  const keyOf = (tenant: string) => operator.keys.create({ kind: "TENANT_ADMIN", name: tenant, tenant });
  const note = (text: string) => ({ target: { handler: "note" }, payload: text });

  it("are made by operators, and their keys reach their own jobs only, at every node", async () => {
    const made = await operator.tenants.create({ name: "acme", weight: 200 });
    assert.deepEqual([made.state, made.weight, made.pools], ["ACTIVE", 200, null]);
    await assert.rejects(operator.tenants.create({ name: "acme" }), { code: "CONFLICT" });
    await assert.rejects(operator.tenants.create({ name: "Not A Name" }), { code: "BAD_REQUEST" });
    const acme = clientOf(await keyOf("acme"));
    assert.equal((await untilDone(() => acme.me())).tenant, "acme");
    const { executionId, jobId } = await acme.submit(note("of acme"));
    assert.equal((await acme.waitForExecution(executionId)).state, "SUCCEEDED");
    assert.ok(started.includes("of acme"));
    await assert.rejects(operator.getJob(jobId), { code: "NOT_FOUND" });
    await assert.rejects(acme.tenants.list().next(), { code: "FORBIDDEN" });
    await assert.rejects(acme.keys.create({ kind: "CLIENT", name: "w", tenant: "default" }), { code: "FORBIDDEN" });
  });

  it("may be acted for by operators, and by nobody else", async () => {
    const acting = new Client({ url: first.httpUrl, apiKey: operatorKey, tenant: "acme" });
    const jobs = [];
    for await (const { jobId } of acting.listJobs()) jobs.push(jobId);
    assert.equal(jobs.length, 1);
    assert.equal((await acting.me()).tenant, "acme");
    const reads = [];
    for await (const { tenant, actor } of operator.audit.list({ action: "listJobs" })) reads.push([tenant, actor.for]);
    assert.deepEqual(reads, [["acme", "acme"]]);
    const unknown = new Client({ url: first.httpUrl, apiKey: operatorKey, tenant: "nobody" });
    await assert.rejects(unknown.me(), { code: "NOT_FOUND" });
    const { key } = await keyOf("acme");
    await untilDone(() => clientOf({ key }).me());
    const own = new Client({ url: second.httpUrl, apiKey: key, tenant: "acme" });
    await assert.rejects(own.me(), { code: "FORBIDDEN" });
  });

  it("that are suspended read, submit nothing, and start nothing until they go on", async () => {
    await operator.tenants.create({ name: "paused" });
    const paused = clientOf(await keyOf("paused"));
    const later = { target: { handler: "note", pool: "unserved" } };
    const { executionId } = await untilDone(() => paused.submit({ ...later, payload: "of paused" }));
    await operator.tenants.suspend("paused");
    const refused = { code: "FORBIDDEN", message: /suspended/ };
    for (const url of [first.httpUrl, second.httpUrl]) {
      const acting = new Client({ url, apiKey: operatorKey, tenant: "paused", retryForMs: 0 });
      await untilDone(() => assert.rejects(acting.submit(note("no")), refused));
    }
    const note2 = task({ name: "note", run: (text: string) => void started.push(text) });
    const served = { pool: "unserved", tasks: [note2], warn: () => undefined };
    const late = new Worker({ url: first.grpcAddress, apiKey: operatorKey, ...served });
    await late.start();
    const other = await operator.submit({ ...later, payload: "meanwhile" });
    assert.equal((await operator.waitForExecution(other.executionId)).state, "SUCCEEDED");
    assert.equal((await paused.getExecution(executionId)).state, "PENDING");
    const { reasons } = await paused.explain(executionId);
    assert.ok(
      reasons.some(({ reason }) => reason === "TENANT_SUSPENDED"),
      JSON.stringify(reasons),
    );
    assert.equal((await operator.tenants.usage("paused")).running, 0);
    await operator.tenants.change("paused", { state: "ACTIVE" });
    assert.equal((await paused.waitForExecution(executionId)).state, "SUCCEEDED");
    await late.stop();
  });

  it("use the pools that they may use", async () => {
    await operator.tenants.create({ name: "limited", pools: ["batch-*"] });
    const limited = clientOf(await keyOf("limited"));
    await untilDone(() => limited.me());
    await assert.rejects(limited.submit(note("no")), { code: "FORBIDDEN", message: /pool/ });
    await limited.submit({ target: { handler: "note", pool: "batch-1" }, payload: "waits" });
    for await (const { name } of limited.pools.list()) assert.match(name, /^batch-/);
  });

  it("own pools, whose work their own workers get, and nobody else hears of", async () => {
    await operator.tenants.create({ name: "owner" });
    await operator.tenants.create({ name: "other", pools: ["default"] });
    const owner = clientOf(await keyOf("owner"));
    const other = clientOf(await keyOf("other"));
    for (const client of [owner, other]) await untilDone(() => client.me());
    const shared = { code: "FORBIDDEN", message: /only operators/ };
    await assert.rejects(owner.pools.set("gpu", { owner: null }), shared);
    await assert.rejects(owner.pools.set("gpu", { owner: "other" }), shared);
    await assert.rejects(owner.pools.set("gpu", { owner: "nobody" }), shared);
    await assert.rejects(operator.pools.set("gpu", { owner: "nobody" }), { code: "NOT_FOUND" });
    await assert.rejects(operator.pools.set("gpu", { owner: "default" }), { code: "BAD_REQUEST" });
    const made = await owner.pools.set("gpu", { maxRunning: 7 });
    assert.deepEqual([made.name, made.owner, made.maxRunning], ["gpu", "owner", 7]);
    assert.equal((await operator.pools.get("gpu")).owner, null);
    const [hidden, unknown] = [await other.pools.get("gpu"), await other.pools.get("never-set")];
    assert.deepEqual({ ...hidden, name: "?" }, { ...unknown, name: "?" });
    const run = (by: string) => task({ name: "who", run: () => by });
    const workerOf = (apiKey: string, pool: string, by: string) =>
      new Worker({ url: second.grpcAddress, pool, apiKey, tasks: [run(by)], warn: () => undefined });
    const { key } = await owner.keys.create({ kind: "WORKER", name: "workers" });
    const strange = await other.keys.create({ kind: "WORKER", name: "workers" });
    for (const made of [{ key }, strange]) await untilDone(() => clientOf(made).me());
    for (const pool of ["gpu", "default", "never-set"]) {
      const message = new RegExp(`owns no pool ${pool}`);
      await assert.rejects(workerOf(strange.key, pool, "other").start(), { message });
    }
    await assert.rejects(workerOf(key, "default", "owner").start(), { message: /owns no pool default/ });
    const operators = workerOf(operatorKey, "gpu", "operators");
    const own = workerOf(key, "gpu", "owner");
    await Promise.all([operators.start(), own.start()]);
    const resultOf = async (client: Client) => {
      const { executionId } = await client.submit({ target: { handler: "who", pool: "gpu" } });
      const { state, result, pool } = await client.waitForExecution(executionId);
      return [state, result, pool];
    };
    assert.deepEqual(await resultOf(owner), ["SUCCEEDED", "owner", "gpu"]);
    assert.deepEqual(await resultOf(operator), ["SUCCEEDED", "operators", "gpu"]);
    await assert.rejects(resultOf(other), { code: "FORBIDDEN", message: /is not among the pools of the tenant/ });
    const workersOf = async (client: Client) =>
      (await client.workers()).filter(({ pool }) => pool === "gpu").map((worker) => worker.poolOwner ?? "shared");
    assert.deepEqual(await workersOf(owner), ["owner"]);
    assert.deepEqual(await workersOf(other), []);
    assert.deepEqual(await workersOf(operator), ["shared"]);
    const [seen] = await owner.workers();
    await assert.rejects(other.getWorker(seen?.workerId ?? ""), { code: "NOT_FOUND" });
    assert.equal((await owner.getWorker(seen?.workerId ?? "")).poolOwner, "owner");
    await Promise.all([operators.stop(), own.stop()]);
  });

  it("are changed only by who knows their version, if that is asked for", async () => {
    const { version } = await operator.tenants.get("acme");
    const changed = await operator.tenants.change("acme", { weight: 300 }, { ifVersion: version });
    assert.equal(changed.weight, 300);
    await assert.rejects(operator.tenants.change("acme", { weight: 1 }, { ifVersion: version }), {
      code: "PRECONDITION_FAILED",
    });
    await assert.rejects(operator.tenants.suspend("default"), { code: "CONFLICT" });
    await assert.rejects(operator.tenants.delete("default"), { code: "CONFLICT" });
  });

  it("that are deleted lose their keys, their jobs and what waits, and then their name", async () => {
    await operator.tenants.create({ name: "leaving" });
    const key = await keyOf("leaving");
    const leaving = clientOf(key);
    await untilDone(() => leaving.submit({ ...note("never"), delayMs: 3_600_000 }));
    await leaving.jobs.upsert("often", { ...note("often"), schedule: "0 5 * * *", timezone: "UTC" });
    assert.equal((await operator.tenants.delete("leaving")).state, "DELETING");
    await untilDone(() => assert.rejects(leaving.me(), { code: "UNAUTHENTICATED" }));
    await untilDone(() => assert.rejects(operator.tenants.get("leaving"), { code: "NOT_FOUND" }));
    await assert.rejects(operator.tenants.create({ name: "leaving" }), { code: "CONFLICT", message: /still kept/ });
  });
});
