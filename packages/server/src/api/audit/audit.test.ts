import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { pino } from "pino";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { allRecords, auditNote, verified } from "../../ports/audit.fixture.ts";
import type { Refused } from "../../ports/refusals.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { AuditRecord } from "../../ports/store-audit.ts";
import { KeyAuthenticator } from "../../security/key-authenticator.ts";
import { KeyRing } from "../../security/key-ring.ts";
import { newKey } from "../../security/new-key.ts";
import { SettingsKeys } from "../../security/settings-keys.ts";
import { tenantOf } from "../../security/tenant.ts";
import { startTestApi, type TestApi } from "../api.fixture.ts";
import type { HttpApp } from "../http/http-app.ts";
import { AUDIT_WAYS } from "./audit-notes.ts";

describe("the audit log behind the API", () => {
  let api: TestApi;
  /** Number of records that earlier tests have left. */
  let known = 0;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  async function send(method: "POST" | "PUT" | "DELETE" | "GET", url: string, payload?: object) {
    return await api.inject({ method, url, ...(payload && { payload }) });
  }

  /** Records since the last call. */
  async function added(): Promise<AuditRecord[]> {
    const all = (await allRecords(api.store.audit)).slice(known);
    known += all.length;
    return all;
  }

  async function submitted(job: object): Promise<{ jobId: string; executionId: string }> {
    return (await send("POST", "/v1/jobs", job)).json();
  }

  const job = { target: { handler: "echo" } };

  it("has one record of each change of a job, in the chain of the node, and none of a submit", async () => {
    const { jobId, executionId } = await submitted({
      ...job,
      runAt: "2998-01-01T00:00:00Z",
      payload: { secret: "s3cr3t" },
    });
    assert.deepEqual(await added(), []);
    const changed = { ...job, runAt: "2999-01-01T00:00:00Z", payload: { secret: "n3w" } };
    assert.equal((await send("PUT", `/v1/jobs/${jobId}`, changed)).statusCode, 202);
    assert.equal((await send("PUT", `/v1/jobs/${jobId}`, changed)).statusCode, 200, "the same again changes nothing");
    await send("POST", `/v1/executions/${executionId}/cancel`);
    await send("DELETE", `/v1/jobs/${jobId}`);
    const records = await added();
    assert.deepEqual(
      records.map(({ action, target, outcome }) => [action, target, outcome]),
      [
        ["replaceJob", jobId, "DONE"],
        ["cancelExecution", executionId, "DONE"],
        ["deleteJob", jobId, "DONE"],
      ],
    );
    const [first] = records;
    assert.deepEqual(first?.actor, { kind: "OPERATOR", keyId: "loopback", for: null });
    assert.deepEqual(first?.detail, { fields: ["target", "runAt", "payload"] });
    assert.equal(JSON.stringify(records).includes("n3w"), false, "no payload is in the log");
    assert.equal(await verified(api.store.audit), null);
  });

  it("has a record of each order for a recurring job", async () => {
    const { jobId } = await submitted({
      ...job,
      name: "nightly",
      type: "CRON",
      schedule: "0 0 * * *",
      timezone: "UTC",
    });
    for (const order of ["pause", "resume", "trigger"]) await send("POST", `/v1/jobs/${jobId}/${order}`);
    await send("PUT", "/v1/jobs/by-name/weekly", { ...job, type: "CRON", schedule: "0 0 * * 0", timezone: "UTC" });
    assert.deepEqual(
      (await added()).map(({ action }) => action),
      ["pauseJob", "resumeJob", "triggerJob", "putJobByName"],
    );
  });

  it("has records of pools, webhooks and keys, and none of a request that was refused", async () => {
    await send("PUT", "/v1/pools/gpu", { paused: true, maxRunning: 3 });
    await send("PUT", "/v1/pools/gpu", { paused: "yes" });
    await send("DELETE", "/v1/webhooks/00000000-0000-4000-8000-000000000000");
    const { webhookId } = (await send("POST", "/v1/webhooks", { url: "https://example.com/hook" })).json();
    if (webhookId !== undefined) await send("DELETE", `/v1/webhooks/${webhookId}`);
    const records = await added();
    assert.deepEqual(records[0]?.detail, { fields: ["paused", "maxRunning"] });
    assert.deepEqual(
      records.map(({ action }) => action),
      webhookId === undefined ? ["putPool"] : ["putPool", "createWebhook", "removeWebhook"],
    );
  });

  it("lists records by filter, page by page", async () => {
    const page = (await send("GET", "/v1/audit?action=putPool&limit=1")).json();
    assert.deepEqual([page.items.length, page.items[0].target], [1, "gpu"]);
    const next = (await send("GET", `/v1/audit?action=putPool&cursor=${page.nextCursor}`)).json();
    assert.deepEqual(next, { items: [], nextCursor: null });
    assert.equal((await send("GET", "/v1/audit?actor=nobody")).json().items.length, 0);
    assert.equal((await send("GET", "/v1/audit?since=2999-01-01T00:00:00Z")).json().items.length, 0);
    assert.equal((await send("GET", "/v1/audit?cursor=x")).statusCode, 400);
    const all = (await send("GET", "/v1/audit/records")).json().items;
    assert.deepEqual(
      all.map(({ hash }: AuditRecord) => hash),
      (await allRecords(api.store.audit)).map(({ hash }) => hash),
    );
    assert.deepEqual((await send("GET", "/v1/audit/anchors")).json(), { items: [], nextCursor: null });
  });

  it("knows of each operation that changes something how it records it", async () => {
    const document = (await send("GET", "/openapi.json")).json() as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const changing = Object.values(document.paths).flatMap((path) =>
      Object.entries(path).flatMap(([method, { operationId }]) => (method === "get" ? [] : [operationId])),
    );
    assert.deepEqual(changing.filter((id) => AUDIT_WAYS[id] === undefined).sort(), []);
    assert.deepEqual(
      Object.keys(AUDIT_WAYS).filter((id) => !changing.includes(id)),
      [],
    );
  });
});

describe("callers with keys in the audit log", () => {
  let api: TestApi;
  let app: HttpApp;
  let operator: string;
  const refused: Refused[] = [];
  before(async () => {
    api = await startTestApi();
    await api.store.audit.write([
      auditNote({ target: "ours", actor: { kind: "TENANT_ADMIN", keyId: "k", for: null } }),
      auditNote({ target: "operator's" }),
      auditNote({ tenant: "acme", target: "theirs" }),
    ]);
    operator = "an-operator-of-the-settings";
    app = await api.another({ apiKey: operator }, undefined, { refusals: { note: (one) => refused.push(one) } });
  });
  after(async () => {
    await app.close();
    await api.stop();
  });

  const get = (url: string, key: string | null, remoteAddress = "10.1.2.3") =>
    app.inject({ url, remoteAddress, headers: key === null ? {} : { authorization: `Bearer ${key}` } });

  it("shows all records to operators", async () => {
    const { items } = (await get("/v1/audit", operator)).json();
    assert.deepEqual(
      items.map(({ target, address }: AuditRecord) => [target, address]),
      [
        ["theirs", "10.0.0.9"],
        ["operator's", "10.0.0.9"],
        ["ours", "10.0.0.9"],
      ],
    );
  });

  it("has refused log-ins counted, with the address", async () => {
    assert.equal((await get("/v1/audit", null)).statusCode, 401);
    assert.equal((await get("/v1/jobs", "wrong")).statusCode, 401);
    assert.equal((await get("/v1/jobs", operator)).statusCode, 200);
    assert.deepEqual(
      refused.map(({ action, reason, address }) => [action, reason, address]),
      [
        ["logIn", "unauthorized", "10.1.2.3"],
        ["logIn", "unauthorized", "10.1.2.3"],
      ],
    );
  });
});

describe("a change while the audit log cannot be written", () => {
  it("does not happen", async () => {
    const api = await startTestApi();
    try {
      await assert.rejects(api.store.putPool({ name: "x", paused: true }, auditNote({ action: null as never })), Error);
      assert.deepEqual(await api.store.readPools(), []);
      await api.store.putPool({ name: "y", paused: true }, auditNote());
      assert.deepEqual(
        (await allRecords(api.store.audit)).map(({ action }) => action),
        ["void", "putPool"],
      );
      assert.equal(await verified(api.store.audit), null);
      await api.loseStore();
      await assert.rejects(api.store.audit.write([auditNote()]), StoreUnavailable);
    } finally {
      await api.stop();
    }
  });
});

describe("submits in the audit log", () => {
  it("have a record for each request and transaction where the setting says so, and no payload in it", async () => {
    const api = await startTestApi();
    const app = await api.another({ apiKey: null, audit: { submits: "batch" } });
    try {
      const job = { target: { handler: "echo" }, payload: "s3cr3t" };
      const submit = (url: string, payload: object, headers = {}) =>
        app.inject({ method: "POST", url, payload, headers });
      const host = { host: "localhost" };
      const one = (await submit("/v1/jobs", job, host)).json();
      const keyed = (await submit("/v1/jobs", job, { ...host, "idempotency-key": "k" })).json();
      const { items } = (await submit("/v1/jobs/batch", { jobs: [job, job, job] }, host)).json();
      const records = await allRecords(api.store.audit);
      assert.deepEqual(
        records.map(({ action, target, detail }) => [action, target, detail]),
        [
          ["submitJob", one.jobId, { count: 1 }],
          ["submitJob", keyed.jobId, { count: 1 }],
          ["submitJobs", items[0].jobId, { count: 3 }],
        ],
      );
      assert.equal(JSON.stringify(records).includes("s3cr3t"), false);
      assert.equal(await verified(api.store.audit), null);
    } finally {
      await app.close();
      await api.stop();
    }
  });
});

describe("a read of a payload by an operator with a key of the store", () => {
  it("is recorded before it is answered, and refused if that is not possible", async () => {
    const api = await startTestApi();
    const runtime = systemRuntime();
    const { key, text } = newKey(
      { kind: "OPERATOR", name: "ops", tenant: tenantOf(null), createdBy: "store", expiresAt: null },
      runtime,
    );
    await api.store.keys.create(key);
    const ring = new KeyRing({ store: api.store.keys, runtime, log: pino({ level: "silent" }) });
    await ring.start();
    const settings = new SettingsKeys({ apiKey: null });
    const authenticator = new KeyAuthenticator({
      settings,
      ring,
      tenants: null,
      used: null,
      runtime,
      staleMs: 900_000,
    });
    const app = await api.another({ apiKey: null }, undefined, { authenticator });
    try {
      const { jobId } = (
        await api.inject({ method: "POST", url: "/v1/jobs", payload: { target: { handler: "echo" } } })
      ).json();
      const get = (url: string) => app.inject({ url, headers: { authorization: `Bearer ${text}` } });
      assert.equal((await get(`/v1/jobs/${jobId}`)).statusCode, 200);
      assert.equal((await get("/v1/jobs")).statusCode, 200, "a list has no payloads");
      const [record, ...others] = await allRecords(api.store.audit);
      assert.deepEqual([record?.action, record?.target, record?.actor.keyId, others], ["getJob", jobId, key.id, []]);
      await api.loseStore();
      const refused = await get(`/v1/jobs/${jobId}`);
      assert.deepEqual([refused.statusCode, refused.json().detail.includes("audit log")], [503, true]);
    } finally {
      ring.stop();
      await app.close();
      await api.stop();
    }
  });
});
