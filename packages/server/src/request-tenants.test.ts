import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import pg from "pg";
import { asked, startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

const KEY = "the-key-of-the-operator";
const JOB = { target: { handler: "echo", pool: "unserved" } };
const BATCH = "SELECT mainspring.mainspring_submit_batch($1::jsonb)";

describe("requests in SQL of a role that belongs to a tenant", () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let node: RunningNode;
  let operator: Client;
  let acme: Client;
  let app: pg.Client;
  before(async () => {
    server = await startTestServer();
    database = await server.newDatabase();
    const settings = { MAINSPRING_STORE: storeUrl(database), MAINSPRING_API_KEY: KEY };
    node = await startLocalNode({ ...settings, MAINSPRING_AUDIT_SUBMITS: "batch", MAINSPRING_BUILTIN_WORKER: "off" });
    operator = new Client({ url: node.httpUrl, apiKey: KEY });
    acme = new Client({ url: node.httpUrl, apiKey: KEY, tenant: "acme" });
    await operator.tenants.create({ name: "acme", maxWaiting: 3 });
    for (const statement of [
      "CREATE ROLE acme_app LOGIN PASSWORD 'p'",
      "GRANT USAGE ON SCHEMA mainspring TO acme_app",
      "GRANT EXECUTE ON FUNCTION mainspring.mainspring_submit_batch(jsonb, text[], text) TO acme_app",
    ])
      await asked(database, statement);
    await operator.tenants.bind("acme", { kind: "ROLE", name: "acme_app" });
    app = new pg.Client({ ...database, user: "acme_app", password: "p" });
    await app.connect();
  });
  after(async () => {
    await app?.end();
    await node?.stop();
    await server?.stop();
  });

  /** Submits jobs in SQL. @returns states of their requests once all are decided */
  const submitted = async (count: number): Promise<string[]> => {
    const before = new Set((await listed()).map(({ requestId }) => requestId));
    await app.query(BATCH, [JSON.stringify(Array.from({ length: count }, () => JOB))]);
    const decided = await until(async () => {
      const own = (await listed()).filter(({ requestId }) => !before.has(requestId));
      return own.length === count && own.every(({ state }) => state !== "ACCEPTED") ? own : null;
    });
    return decided.map(({ state }) => state).sort();
  };
  const listed = () => listOf(acme.requests.list({}));

  it("are charged to the tenant's quotas, and refused over them", async () => {
    assert.deepEqual(await submitted(2), ["TAKEN_IN", "TAKEN_IN"]);
    assert.deepEqual(await submitted(3), ["REFUSED", "REFUSED", "TAKEN_IN"]);
    const refused = (await listed()).find(({ state }) => state === "REFUSED");
    const { problem } = await acme.requests.get(refused?.requestId ?? "");
    const { type, quota, limit } = problem as unknown as Record<string, unknown>;
    assert.deepEqual([type, quota, limit], ["/problems/quota-exceeded", "maxWaiting", 3]);
    assert.equal((await operator.tenants.usage("acme")).ready, 3);
    // The operators' own requests have no quota.
    const before = await listOf(operator.listJobs());
    await asked(database, BATCH, [JSON.stringify(Array.from({ length: 5 }, () => JOB))]);
    await until(async () => (await listOf(operator.listJobs())).length === before.length + 5);
  });

  it("have records in the audit log, one for each transaction and tenant", async () => {
    await operator.tenants.change("acme", { maxWaiting: null });
    await until(async () => (await submitted(2)).includes("TAKEN_IN"));
    const records = await listOf(operator.audit.list({ action: "takeInRequests" }));
    const ofAcme = records.filter(({ tenant }) => tenant === "acme");
    const jobs = (await listOf(acme.listJobs())).map(({ jobId }) => jobId);
    assert.equal(
      ofAcme.reduce((sum, { detail }) => sum + Number(detail["count"]), 0),
      jobs.length,
    );
    for (const { actor, target, detail, outcome } of ofAcme) {
      assert.deepEqual([actor.kind, actor.keyId, detail["source"], outcome], ["SYSTEM", null, "SQL", "DONE"]);
      assert.ok(jobs.includes(target ?? ""));
    }
    const { key } = await operator.keys.create({ kind: "TENANT_ADMIN", name: "admin", tenant: "acme" });
    const admin = new Client({ url: node.httpUrl, apiKey: key });
    const seen = await listOf(admin.audit.list({ action: "takeInRequests" }));
    assert.deepEqual(
      seen.map(({ tenant }) => tenant),
      ofAcme.map(({ tenant }) => tenant),
    );
  });
});

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
