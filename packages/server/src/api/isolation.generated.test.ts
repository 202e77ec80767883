import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import { until } from "../adapters/system/until.fixture.ts";
import { SCOPES_OF } from "../domain/api-key.ts";
import { ownedPool } from "../domain/pool.ts";
import { TENANT_DEFAULTS } from "../domain/tenant.ts";
import type { Authenticator, Principal } from "../ports/authenticator.ts";
import { ALL_SHARDS, firstChange, Scene } from "../ports/conformance/store-scene.conformance.ts";
import type { Store } from "../ports/store.ts";
import { newKey } from "../security/new-key.ts";
import { tenantOf } from "../security/tenant.ts";
import { TenantRing } from "../security/tenant-ring.ts";
import { startTestApi, type TestApi } from "./api.fixture.ts";
import { eventOf, MemoryEvents } from "./events/events.fixture.ts";
import type { HttpApp } from "./http/http-app.ts";

/** Part of every text of tenant B that its users choose. No answer to tenant A may contain it. */
const CANARY = "B7f3c0ffee";
const RANDOM_ID = "019a1111-2222-7333-8444-555566667777";

/** Callers by the text of their credential. */
const CALLERS: Readonly<Record<string, Principal>> = {
  a: caller("a", "TENANT_ADMIN"),
  b: caller("b", "TENANT_ADMIN"),
  operator: caller("default", "OPERATOR"),
};

function caller(name: string, kind: "TENANT_ADMIN" | "OPERATOR"): Principal {
  const tenant = tenantOf(name);
  return { keyId: RANDOM_ID, source: "STORE", kind, tenant, scopes: new Set(SCOPES_OF[kind]), pools: ["*"] };
}

const authenticator: Authenticator = {
  isOpen: false,
  judge: (authorization = "") => {
    const found = CALLERS[authorization.replace("Bearer ", "")];
    return found ?? { code: "UNAUTHENTICATED", detail: "unknown" };
  },
  actingFor: (principal, tenant) => ({ ...principal, tenant: tenantOf(tenant) }),
  stateOf: () => "ACTIVE",
  judgeAgain: () => null,
  hold: () => () => undefined,
};

const JOB = { target: { handler: "echo" } };
const RECURRING = { ...JOB, schedule: "0 5 * * *", timezone: "UTC" };
const WORKFLOW = { name: "w", nodes: [{ name: "n", target: { handler: "echo" } }] };

/** Path parameters and body of each operation that is not for operators only. An operation that is missing here fails the test. */
const OPERATIONS: Readonly<Record<string, { ids?: readonly Id[]; body?: unknown; query?: string }>> = {
  submitJob: { body: JOB },
  submitJobs: { body: { jobs: [JOB] } },
  listJobs: {},
  getJob: { ids: ["job"] },
  replaceJob: { ids: ["job"], body: JOB },
  putJobByName: { body: { ...RECURRING, name: "p" } },
  deleteJob: { ids: ["recurring"] },
  pauseJob: { ids: ["recurring"] },
  resumeJob: { ids: ["recurring"], body: {} },
  triggerJob: { ids: ["recurring"] },
  backfillJob: { ids: ["recurring"], body: { since: "2020-01-01T00:00:00Z", until: "2020-01-02T00:00:00Z" } },
  getJobLedger: { ids: ["recurring"] },
  getNextFires: { ids: ["recurring"] },
  listJobExecutions: { ids: ["job"] },
  listOverdueJobs: {},
  listMissedJobs: {},
  previewSchedule: { body: { schedule: "0 5 * * *", timezone: "UTC" } },
  listExecutions: {},
  getExecution: { ids: ["execution"] },
  getExecutionSteps: { ids: ["execution"] },
  explainExecution: { ids: ["execution"] },
  followExecution: { ids: ["execution"] },
  getLogs: { ids: ["execution"] },
  getAttemptLogs: { ids: ["execution"] },
  cancelExecution: { ids: ["execution"] },
  retryExecution: { ids: ["dead"], body: {} },
  signalExecution: { ids: ["execution"], body: { name: "s" } },
  countExecutions: {},
  previewExecutionRun: { body: { action: "CANCEL", filter: { handler: "none" } } },
  createExecutionRun: { body: { action: "CANCEL", filter: { handler: "none" } } },
  listExecutionRuns: {},
  getExecutionRun: { ids: ["executionRun"] },
  stopExecutionRun: { ids: ["executionRun"] },
  listDeadLetters: {},
  replayDeadLetters: { body: { executionIds: ["$dead"] } },
  discardDeadLetters: { body: { executionIds: ["$dead"] } },
  getDeadLetterRun: { ids: ["letterRun"] },
  submitWorkflow: { body: WORKFLOW },
  listWorkflows: {},
  getWorkflow: { ids: ["workflow"] },
  listWorkflowNodes: { ids: ["workflow"] },
  getWorkflowNode: { ids: ["workflow"] },
  explainWorkflowNode: { ids: ["workflow"] },
  listWorkflowItems: { ids: ["workflow"] },
  readWorkflowResults: { ids: ["workflow"], query: "node=n" },
  getWorkflowGraph: { ids: ["workflow"] },
  followWorkflow: { ids: ["workflow"] },
  cancelWorkflow: { ids: ["workflow"] },
  retryWorkflow: { ids: ["workflow"], body: {} },
  pauseWorkflow: { ids: ["workflow"] },
  resumeWorkflow: { ids: ["workflow"] },
  signalWorkflowNode: { ids: ["workflow"], body: { name: "s" } },
  listRequests: {},
  getRequest: { ids: ["request"] },
  listWebhooks: {},
  createWebhook: { body: { url: "https://a.example/" } },
  getWebhook: { ids: ["webhook"] },
  rotateWebhookSecret: { ids: ["webhook"], body: {} },
  enableWebhook: { ids: ["webhook"], body: {} },
  disableWebhook: { ids: ["webhook"], body: {} },
  removeWebhook: { ids: ["webhook"] },
  listDeliveries: { ids: ["webhook"] },
  replayDeliveries: { ids: ["webhook"], body: { deliveryIds: [RANDOM_ID] } },
  createApiKey: { body: { kind: "CLIENT", name: "k" } },
  listApiKeys: {},
  getApiKey: { ids: ["key"] },
  revokeApiKey: { ids: ["key"] },
  rotateApiKey: { ids: ["key"], body: {} },
  whoAmI: {},
  listAudit: {},
  listPools: {},
  getPool: {},
  putPool: { body: { paused: false } },
  listWorkers: {},
  getWorker: {},
  drainWorker: {},
  listHandlers: {},
  getStats: {},
  getSeries: {},
  getTimeZoneData: {},
  followEvents: { query: "after=oldest&until=now" },
};

type Id =
  | "job"
  | "recurring"
  | "execution"
  | "dead"
  | "letterRun"
  | "executionRun"
  | "workflow"
  | "request"
  | "webhook"
  | "key";

/** Operations that answer without a key, and say nothing of any job. */
const PUBLIC = /^(\/healthz|\/readyz|\/problems|\/docs|\/openapi|\/v1\/session)/;

interface Operation {
  operationId: string;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  scope: string;
}

/** Objects of tenant B. */
let own: Record<Id, string>;

describe("tenants", () => {
  let api: TestApi;
  let app: HttpApp;
  let tenants: TenantRing;
  const events = new MemoryEvents();
  before(async () => {
    api = await startTestApi();
    tenants = new TenantRing(api.store.tenants);
    for (const name of ["a", "b"]) await api.store.tenants.create({ ...TENANT_DEFAULTS, name, createdAt: 1 });
    app = await api.another({ apiKey: null }, undefined, { authenticator, events, tenants });
    const scene = await Scene.open({ store: api.store, runtime: systemRuntime(), close: async () => {} });
    await scene.takeOver(ALL_SHARDS, api.bus.node);
    await ownedPoolsOf(["a", "b"], api.store);
    await tenants.read(true);
    own = await objectsOf("b", scene, app);
    await objectsOf("a", scene, app);
    for (const [number, tenant] of ["a", "b", "default"].entries()) {
      const handler = tenant === "a" ? "echo" : CANARY;
      events.write({ shard: number, epoch: 1, seq: 1, events: [eventOf(number, { tenant, handler })] });
    }
  });
  after(async () => {
    await app.close();
    await api.stop();
  });

  const call = (key: string, { method, path }: Pick<Operation, "method" | "path">, body?: unknown) => {
    const request: InjectOptions = {
      method,
      url: path,
      headers: { authorization: `Bearer ${key}`, "cache-control": "max-age=10" },
    };
    return app.inject(body === undefined ? request : { ...request, payload: body as object });
  };

  it("have a test for each operation of the API", () => {
    const missing = operationsOf(app).filter(({ operationId, scope, path }) => {
      return !(operationId in OPERATIONS) && scope !== "system:admin" && scope !== "metrics:read" && !PUBLIC.test(path);
    });
    assert.deepEqual(
      missing.map(({ operationId, scope }) => `${operationId} (${scope}): add it to OPERATIONS`),
      [],
    );
    assert.ok(operationsOf(app).every(({ scope }) => scope !== ""));
  });

  it("may not do what is for operators", async () => {
    for (const operation of operationsOf(app)) {
      if (operation.scope !== "system:admin" && operation.scope !== "metrics:read") continue;
      const answer = await call("a", filled(operation, RANDOM_ID));
      assert.equal(answer.statusCode, 403, `${operation.operationId}: ${answer.body}`);
    }
  });

  it("answer for an object of another tenant as for one that never was, and change nothing of it", async () => {
    const before = await stateOf("b", call);
    for (const operation of operationsOf(app)) {
      const { ids = [], body, query } = OPERATIONS[operation.operationId] ?? {};
      const text = JSON.stringify(body ?? null);
      const [id = text.includes("$dead") ? "dead" : undefined] = ids;
      if (id === undefined) continue;
      const answers: string[] = [];
      for (const used of [own[id], RANDOM_ID]) {
        const sent = body === undefined ? undefined : JSON.parse(text.replace("$dead", used));
        const answer = await call("a", filled(operation, used, query), sent);
        answers.push(`${answer.statusCode} ${answer.body.replaceAll(used, "ID")}`);
        assert.equal(leakIn(answer, [used]), null, operation.operationId);
      }
      assert.equal(answers[0], answers[1], operation.operationId);
    }
    assert.deepEqual(await stateOf("b", call), before);
  });

  it("read nothing of another tenant in lists, streams and answers to their own requests", async () => {
    const before = await stateOf("b", call);
    for (const operation of operationsOf(app)) {
      const { ids, body, query } = OPERATIONS[operation.operationId] ?? {};
      if (ids !== undefined || !(operation.operationId in OPERATIONS) || operation.path.includes("{workerId}"))
        continue;
      const sent = body === undefined ? undefined : JSON.parse(JSON.stringify(body).replace("$dead", RANDOM_ID));
      const answer = await call("a", filled(operation, RANDOM_ID, query), sent);
      assert.ok(answer.statusCode < 500, `${operation.operationId}: ${answer.body}`);
      assert.equal(leakIn(answer), null, operation.operationId);
      const { nextCursor = null } = answer.headers["content-type"]?.toString().includes("json") ? answer.json() : {};
      if (nextCursor === null) continue;
      const next = await call("a", filled(operation, RANDOM_ID, `cursor=${nextCursor}`));
      assert.equal(leakIn(next), null, operation.operationId);
    }
    assert.deepEqual(await stateOf("b", call), before);
  });

  it("read nothing of another tenant with its cursors", async () => {
    const kinds = ["Jobs", "Executions", "Workflows", "DeadLetters", "ExecutionRuns", "Webhooks", "Audit"];
    for (const operationId of kinds.map((kind) => `list${kind}`)) {
      const operation = operationsOf(app).find((one) => one.operationId === operationId) as Operation;
      const { nextCursor } = (await call("b", filled(operation, RANDOM_ID, "limit=1"))).json();
      const answer = await call("a", filled(operation, RANDOM_ID, nextCursor === null ? "" : `cursor=${nextCursor}`));
      assert.equal(answer.statusCode, 200, answer.body);
      assert.equal(leakIn(answer), null, operationId);
    }
  });

  it("find their own objects", async () => {
    const [mine, theirs] = [await stateOf("a", call), await stateOf("b", call)];
    for (const state of [mine, theirs])
      assert.ok(
        state.every((list) => list.length > 0),
        JSON.stringify(state),
      );
    assert.ok(JSON.stringify(theirs).includes(CANARY));
    const stream = await call("b", { method: "GET", path: "/v1/events?after=oldest&until=now" });
    assert.ok(stream.body.includes(CANARY));
  });

  it("hear nothing of pools of others, and mean their own pools by their names", async () => {
    const poolsOf = async (key: string) => {
      const { items } = (await call(key, { method: "GET", path: "/v1/pools" })).json();
      return items.flatMap(({ name, owner }: { name: string; owner: string | null }) => (owner === null ? [] : [name]));
    };
    assert.deepEqual([await poolsOf("a"), await poolsOf("b"), await poolsOf("operator")], [["own"], [CANARY], []]);
    const shown = async (name: string) =>
      (await call("a", { method: "GET", path: `/v1/pools/${name}` })).body.replaceAll(name, "NAME");
    assert.equal(await shown(CANARY), await shown("unknown"));
    const submit = (name: string) =>
      call("a", { method: "POST", path: "/v1/jobs" }, { target: { handler: name, pool: name } });
    const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
    const answers = await Promise.all(
      [CANARY, "unknown"].map(async (name) => (await submit(name)).body.replaceAll(ids, "ID").replaceAll(name, "NAME")),
    );
    assert.equal(answers[0], answers[1]);
    const job = (await call("b", { method: "GET", path: `/v1/jobs/${own.job}` })).json();
    assert.equal(job.target.pool, CANARY);
  });

  it("do not choose their tenant by a header, even if it is their own", async () => {
    for (const tenant of ["a", "b", "default"]) {
      const headers = { authorization: "Bearer a", "mainspring-tenant": tenant };
      assert.equal((await app.inject({ url: "/v1/jobs", headers })).statusCode, 403);
    }
  });
});

/** Gives each tenant a pool with the policies of a handler, both of which tenant B names by the canary. */
async function ownedPoolsOf(names: readonly string[], store: Pick<Store, "putPool" | "handlers">): Promise<void> {
  for (const name of names) {
    const mark = name === "b" ? CANARY : "own";
    const pool = ownedPool(name, mark);
    await store.putPool({ name: pool, paused: true });
    await store.handlers.keep(
      [{ pool, handler: mark, isHome: true, policies: "{}", isNews: true }],
      systemRuntime().now(),
    );
  }
}

/** Creates one object of each kind for a tenant. */
async function objectsOf(key: "a" | "b", scene: Scene, app: HttpApp): Promise<Record<Id, string>> {
  const mark = key === "b" ? CANARY : "a";
  const { runtime, store } = scene;
  const post = async (url: string, payload: object) => {
    const answer = await app.inject({ method: "POST", url, payload, headers: { authorization: `Bearer ${key}` } });
    assert.ok(answer.statusCode < 300, answer.body);
    return answer.json();
  };
  const target = { handler: mark, pool: key === "b" ? CANARY : "default" };
  const job = { target, payload: { mark }, labels: { mark }, name: mark };
  const once = await post("/v1/jobs", { ...job, concurrencyKey: mark, uniqueKey: mark });
  const recurring = await post("/v1/jobs", { ...job, schedule: "0 5 * * *", timezone: "UTC" });
  const workflow = await post("/v1/workflows", { name: mark, input: { mark }, nodes: [{ name: "n", target }] });
  const webhook = await post("/v1/webhooks", { url: `https://${mark.toLowerCase()}.example/${mark}` });
  const letter = await post("/v1/jobs", job);
  const error = { name: mark, message: mark };
  const [row] = await store.load([letter.executionId]);
  assert.ok(row);
  const now = runtime.now();
  const attempt = { attempt: 1, workerId: mark, state: "FAILED", startedAt: now, finishedAt: now, error } as const;
  const end = { state: "DEAD", attempt: 1, queue: "NONE", startedAt: now, finishedAt: now, error } as const;
  await scene.applied(row.shard, { changes: [firstChange(row, { ...end, ended: [attempt] })] });
  const run = await post("/v1/dead-letters/discard", { filter: { handler: "none" } });
  const filter = { handler: mark, state: "RUNNING" };
  const executionRun = await post("/v1/execution-runs", { action: "CANCEL", filter });
  await until(async () => (await store.executionRuns.get(key, executionRun.runId))?.finishedAt !== null);
  const asked = { kind: "CLIENT", name: mark, tenant: tenantOf(key), createdBy: mark, expiresAt: null } as const;
  const stored = newKey(asked, runtime);
  await store.keys.create(stored.key);
  return {
    ...{ job: once.jobId, execution: once.executionId, recurring: recurring.jobId, dead: letter.executionId },
    ...{ workflow: workflow.workflowId, webhook: webhook.webhookId, letterRun: run.runId, key: stored.key.id },
    executionRun: executionRun.runId,
    request: RANDOM_ID.replace("019a", "019b"),
  };
}

type Call = (
  key: string,
  operation: Pick<Operation, "method" | "path">,
  body?: unknown,
) => Promise<LightMyRequestResponse>;

/** Own objects of a tenant, as it sees them. */
async function stateOf(key: string, call: Call): Promise<unknown[][]> {
  const lists = ["jobs", "executions", "workflows", "dead-letters", "execution-runs", "webhooks", "api-keys", "audit"];
  const states: unknown[][] = [];
  for (const list of lists) {
    const answer = await call(key, { method: "GET", path: `/v1/${list}?limit=500` });
    assert.equal(answer.statusCode, 200, answer.body);
    states.push(answer.json().items);
  }
  return states;
}

/** @returns what an answer tells of tenant B; null: nothing */
function leakIn(answer: LightMyRequestResponse, named: readonly string[] = []): string | null {
  const text = JSON.stringify(answer.headers) + answer.body;
  const secrets = [CANARY, CANARY.toLowerCase(), ...Object.values(own).filter((id) => !named.includes(id))];
  return secrets.some((secret) => text.includes(secret)) ? text : null;
}

function filled({ method, path }: Operation, id: string, query = ""): Pick<Operation, "method" | "path"> {
  const url = path
    .replace("{attempt}", "1")
    .replace("/workflows/{workflowId}/nodes/{name}", `/workflows/${id}/nodes/n`)
    .replace("/jobs/by-name/{name}", "/jobs/by-name/p")
    .replace("/pools/{name}", "/pools/default")
    .replaceAll(/\{[a-zA-Z]+\}/g, id);
  return { method, path: query === "" ? url : `${url}?${query}` };
}

function operationsOf(app: HttpApp): Operation[] {
  const paths = app.swagger().paths as Record<string, Record<string, { operationId: string; "x-scope"?: string }>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, "x-scope": scope = "" }]) => {
      return { operationId, method: method.toUpperCase() as Operation["method"], path, scope };
    }),
  );
}
