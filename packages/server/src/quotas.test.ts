import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type CreatedApiKey, task } from "@mainspring/sdk";
import { startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { untilDone } from "./adapters/system/until.fixture.ts";
import { createKeyInStore } from "./key-in-store.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

describe("quotas of tenants in a cluster", () => {
  let server: TestServer;
  let nodes: [RunningNode, RunningNode];
  let operator: Client;
  let operatorKey: string;
  before(async () => {
    server = await startTestServer();
    const store = storeUrl(await server.newDatabase());
    const home = { store, storeSchema: null, dataDir: "" };
    operatorKey = (await createKeyInStore(home, { kind: "OPERATOR", name: "root" })).key;
    const start = () =>
      startLocalNode({
        ...{ MAINSPRING_STORE: store, MAINSPRING_BUS: "mesh", MAINSPRING_CLUSTER_SECRET: "the-secret-of-the-cluster" },
        MAINSPRING_BUILTIN_WORKER: "off",
      });
    nodes = [await start(), await start()];
    operator = new Client({ url: nodes[0].httpUrl, apiKey: operatorKey });
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await server.stop();
  });

  /** Key of a new tenant, once both nodes know it. */
  const tenantWith = async (name: string, settings: Parameters<Client["tenants"]["change"]>[1]) => {
    await operator.tenants.create({ name, ...settings });
    const { key } = await operator.keys.create({ kind: "TENANT_ADMIN", name, tenant: name });
    for (const { httpUrl } of nodes) await untilDone(() => clientOf({ key }, httpUrl).me());
    return key;
  };
  const clientOf = ({ key }: Pick<CreatedApiKey, "key">, url: string) =>
    new Client({ url, apiKey: key, retryForMs: 0 });
  const post = async (key: string, node: 0 | 1, path: string, body: unknown, headers: Record<string, string> = {}) => {
    const sent = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
    const url = new URL(path, nodes[node].httpUrl);
    const answer = await fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body) });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
  };
  const job = { target: { handler: "echo", pool: "unserved" } };
  const batch = (jobs: number) => ({ jobs: Array.from({ length: jobs }, () => job) });

  it("are read and written by operators, and hold at every node", async () => {
    const key = await tenantWith("few", { maxWaiting: 3 });
    assert.equal((await operator.tenants.get("few")).maxWaiting, 3);
    const once = { "idempotency-key": "once" };
    assert.equal((await post(key, 0, "/v1/jobs", job, once)).status, 201);
    // The place of the first job counts as one of its node until that node tells that the job is written.
    await untilDone(async () => assert.equal((await post(key, 1, "/v1/jobs/batch", batch(2))).status, 200));
    for (const node of [0, 1] as const) {
      const refused = await post(key, node, "/v1/jobs", job);
      assert.equal(refused.status, 429);
      const { detail: _, title: _title, ...body } = refused.body;
      assert.deepEqual(body, { type: "/problems/quota-exceeded", status: 429, quota: "maxWaiting", limit: 3, used: 3 });
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      assert.equal(refused.headers.get("ratelimit-remaining"), "0");
      const repeat = await post(key, node, "/v1/jobs", job, once);
      assert.deepEqual([repeat.status, repeat.headers.get("idempotent-replayed")], [201, "true"]);
    }
    const never = await post(key, 0, "/v1/jobs/batch", batch(4));
    assert.deepEqual([never.status, never.body["type"]], [413, "/problems/quota-never-fits"]);
    await operator.tenants.change("few", { maxWaiting: null });
    await untilDone(async () => assert.equal((await post(key, 1, "/v1/jobs", job)).status, 201));
  });

  it("let both nodes together wait for as many executions as the tenant may have, and take more when some have ended", async () => {
    const key = await tenantWith("some", { maxWaiting: 40 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => post(key, n % 2 === 0 ? 0 : 1, "/v1/jobs", job)),
    );
    const taken = answers.filter(({ status }) => status === 201);
    assert.ok(answers.every(({ status }) => status === 201 || status === 429));
    const { waiting, ready } = await operator.tenants.usage("some");
    assert.equal(waiting + ready, taken.length);
    assert.ok(taken.length <= 40);
    await untilDone(async () => {
      await post(key, 0, "/v1/jobs", job);
      assert.equal((await operator.tenants.usage("some")).ready, 40);
    });
    for (const node of [0, 1] as const) assert.equal((await post(key, node, "/v1/jobs", job)).status, 429);
    const client = clientOf({ key }, nodes[1].httpUrl);
    await client.cancelExecution(String(taken[0]?.body["executionId"]));
    await untilDone(async () => assert.equal((await post(key, 1, "/v1/jobs", job)).status, 201));
  });

  it("refuse a batch whole, and what is too large for good", async () => {
    const key = await tenantWith("slow", { submitsPerSec: 0.5, maxPayloadBytes: 10, maxBatchBytes: 2_000 });
    const refused = await post(key, 0, "/v1/jobs/batch", batch(6));
    assert.deepEqual([refused.status, refused.body["quota"], refused.body["used"]], [413, "submitsPerSec", 6]);
    assert.equal((await post(key, 0, "/v1/jobs/batch", batch(4))).status, 200);
    const over = await post(key, 1, "/v1/jobs/batch", batch(4));
    assert.deepEqual([over.status, over.body["quota"]], [429, "submitsPerSec"]);
    assert.equal((await operator.tenants.usage("slow")).ready, 4);
    const large = await post(key, 0, "/v1/jobs", { ...job, payload: "more than ten" });
    assert.deepEqual([large.status, large.body["quota"]], [413, "maxPayloadBytes"]);
    const long = await post(key, 0, "/v1/jobs/batch", batch(100));
    assert.deepEqual([long.status, long.body["quota"]], [413, "maxBatchBytes"]);
  });

  it("limit recurring jobs and workflows, but not the put of one that exists", async () => {
    const key = await tenantWith("cron", { maxRecurring: 1 });
    const hourly = { ...job, everySec: 3_600, name: "hourly" };
    const put = (name: string) =>
      fetch(new URL(`/v1/jobs/by-name/${name}`, nodes[1].httpUrl), {
        method: "PUT",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ ...job, everySec: 3_600 }),
      });
    assert.equal((await post(key, 0, "/v1/jobs", hourly)).status, 201);
    assert.equal((await post(key, 0, "/v1/jobs", { ...hourly, name: "other" })).status, 429);
    assert.equal((await put("other")).status, 429);
    assert.equal((await put("hourly")).status, 200);
    const nodesOf = [{ name: "one", target: job.target }];
    assert.equal((await post(key, 0, "/v1/workflows", { name: "w", nodes: nodesOf })).status, 201);
    assert.equal((await post(key, 0, "/v1/workflows", { name: "w", nodes: nodesOf, everySec: 60 })).status, 429);
  });

  it("limit the requests of a tenant, and not those of operators who act for it", async () => {
    const key = await tenantWith("asks", {});
    await operator.tenants.change("asks", { requestsPerSec: 0.1 });
    const asks = clientOf({ key }, nodes[0].httpUrl);
    await untilDone(() => assert.rejects(asks.me(), { status: 429 }));
    const acting = new Client({ url: nodes[0].httpUrl, apiKey: operatorKey, tenant: "asks" });
    for (let n = 0; n < 20; n++) assert.equal((await acting.me()).tenant, "asks");
  });

  it("limit the attempts that run at once, on all nodes together", async (t) => {
    const key = await tenantWith("calm", { maxRunning: 2 });
    const ends: (() => void)[] = [];
    let [running, most, isOpen] = [0, 0, false];
    const hold = task({
      name: "hold",
      run: async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => (isOpen ? resolve() : void ends.push(resolve)));
        running--;
      },
    });
    const workers = nodes.map((node) => node.attachWorker({ tasks: [hold], pool: "calm" }));
    await Promise.all(workers.map((worker) => worker.start()));
    t.after(() => Promise.all(workers.map((worker) => worker.stop())));
    const calm = clientOf({ key }, nodes[0].httpUrl);
    const jobs = Array.from({ length: 8 }, () => ({ target: { handler: "hold", pool: "calm" } }));
    const ids = (await calm.submitBatch(jobs)).map((item) => (item as { executionId: string }).executionId);
    await untilDone(async () => assert.equal(ends.length, 2));
    await untilDone(async () => {
      const reasons = (await Promise.all(ids.map((id) => calm.explain(id)))).flatMap((explained) => explained.reasons);
      assert.equal(reasons.filter(({ reason }) => reason === "TENANT_AT_LIMIT").length, ids.length - 2);
      assert.equal(reasons.filter(({ reason }) => reason === "ALL_SLOTS_BUSY").length, 0);
    });
    isOpen = true;
    for (const end of ends) end();
    const ended = await Promise.all(ids.map((id) => calm.getExecution(id, { waitSec: 30 })));
    assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
    assert.equal(most, 2);
  });

  it("are refused with the range that would be right", async () => {
    await assert.rejects(operator.tenants.create({ name: "bad", maxWaiting: -1 }), { code: "BAD_REQUEST" });
    await assert.rejects(operator.tenants.create({ name: "bad", submitsPerSec: 0 }), { code: "BAD_REQUEST" });
    await assert.rejects(operator.tenants.create({ name: "bad", maxPayloadBytes: 2 ** 30 }), { code: "BAD_REQUEST" });
  });
});
