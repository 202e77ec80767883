import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { SCOPES } from "@mainspring/contract/enums";
import { startTestApi, type TestApi } from "../api.fixture.ts";

type Node = Record<string, unknown>;
interface Operation {
  operationId: string;
  summary: string;
  responses: Record<string, { description: string; content?: Record<string, { schema: Node }> }>;
}
interface OpenApi {
  info: { version: string };
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
}

const ROUTES = [
  "DELETE /v1/api-keys/{keyId}",
  "DELETE /v1/jobs/{jobId}",
  "DELETE /v1/session",
  "DELETE /v1/tenants/{name}",
  "DELETE /v1/tenants/{name}/sources/{kind}/{source}",
  "DELETE /v1/webhooks/{webhookId}",
  "GET /healthz",
  "GET /metrics",
  "GET /problems",
  "GET /problems/{name}",
  "GET /readyz",
  "GET /v1/api-keys",
  "GET /v1/api-keys/{keyId}",
  "GET /v1/audit",
  "GET /v1/audit/anchors",
  "GET /v1/audit/records",
  "GET /v1/cluster",
  "GET /v1/dead-letters",
  "GET /v1/dead-letters/runs/{runId}",
  "GET /v1/events",
  "GET /v1/execution-count",
  "GET /v1/execution-runs",
  "GET /v1/execution-runs/{runId}",
  "GET /v1/executions",
  "GET /v1/executions/{executionId}",
  "GET /v1/executions/{executionId}/attempts/{attempt}/logs",
  "GET /v1/executions/{executionId}/events",
  "GET /v1/executions/{executionId}/explain",
  "GET /v1/executions/{executionId}/logs",
  "GET /v1/executions/{executionId}/steps",
  "GET /v1/handlers",
  "GET /v1/ingest",
  "GET /v1/jobs",
  "GET /v1/jobs/{jobId}",
  "GET /v1/jobs/{jobId}/executions",
  "GET /v1/jobs/{jobId}/ledger",
  "GET /v1/jobs/{jobId}/next-fires",
  "GET /v1/me",
  "GET /v1/missed-jobs",
  "GET /v1/overdue-jobs",
  "GET /v1/pools",
  "GET /v1/pools/{name}",
  "GET /v1/requests",
  "GET /v1/requests/{requestId}",
  "GET /v1/series",
  "GET /v1/stats",
  "GET /v1/tenants",
  "GET /v1/tenants/{name}",
  "GET /v1/tenants/{name}/usage",
  "GET /v1/time-zone-data",
  "GET /v1/webhooks",
  "GET /v1/webhooks/{webhookId}",
  "GET /v1/webhooks/{webhookId}/deliveries",
  "GET /v1/workers",
  "GET /v1/workers/{workerId}",
  "GET /v1/workflows",
  "GET /v1/workflows/{workflowId}",
  "GET /v1/workflows/{workflowId}/events",
  "GET /v1/workflows/{workflowId}/graph",
  "GET /v1/workflows/{workflowId}/nodes",
  "GET /v1/workflows/{workflowId}/nodes/{name}",
  "GET /v1/workflows/{workflowId}/nodes/{name}/explain",
  "GET /v1/workflows/{workflowId}/nodes/{name}/items",
  "GET /v1/workflows/{workflowId}/results",
  "PATCH /v1/tenants/{name}",
  "POST /v1/api-keys",
  "POST /v1/api-keys/{keyId}/rotate",
  "POST /v1/cluster/nodes/{nodeId}/drain",
  "POST /v1/cluster/nodes/{nodeId}/undrain",
  "POST /v1/dead-letters/discard",
  "POST /v1/dead-letters/replay",
  "POST /v1/execution-runs",
  "POST /v1/execution-runs/preview",
  "POST /v1/execution-runs/{runId}/stop",
  "POST /v1/executions/{executionId}/cancel",
  "POST /v1/executions/{executionId}/retry",
  "POST /v1/executions/{executionId}/signals",
  "POST /v1/ingest/seek",
  "POST /v1/jobs",
  "POST /v1/jobs/batch",
  "POST /v1/jobs/{jobId}/backfill",
  "POST /v1/jobs/{jobId}/pause",
  "POST /v1/jobs/{jobId}/resume",
  "POST /v1/jobs/{jobId}/trigger",
  "POST /v1/schedules/preview",
  "POST /v1/session",
  "POST /v1/tenants",
  "POST /v1/webhooks",
  "POST /v1/webhooks/{webhookId}/disable",
  "POST /v1/webhooks/{webhookId}/enable",
  "POST /v1/webhooks/{webhookId}/replay",
  "POST /v1/webhooks/{webhookId}/rotate-secret",
  "POST /v1/workers/{workerId}/drain",
  "POST /v1/workflows",
  "POST /v1/workflows/{workflowId}/cancel",
  "POST /v1/workflows/{workflowId}/nodes/{name}/signals",
  "POST /v1/workflows/{workflowId}/pause",
  "POST /v1/workflows/{workflowId}/resume",
  "POST /v1/workflows/{workflowId}/retry",
  "PUT /v1/jobs/by-name/{name}",
  "PUT /v1/jobs/{jobId}",
  "PUT /v1/pools/{name}",
  "PUT /v1/tenants/{name}/sources/{kind}/{source}",
  "PUT /v1/time-zone-data",
];

describe("the description of the API", () => {
  let api: TestApi;
  let document: OpenApi;
  before(async () => {
    api = await startTestApi();
    document = JSON.parse(JSON.stringify(api.app.swagger()));
  });
  after(() => api.stop());

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    );

  it("has the same content in each place, and the version of the server", async () => {
    const { info, ...expected } = document;
    for (const url of ["/openapi.json", "/docs/json", "/docs/yaml"]) {
      const answer = await api.app.inject({ url });
      const { info: given, ...rest } = answer.json();
      assert.deepEqual(rest, expected, `${url} is stale: npm run generate`);
      assert.deepEqual(given, info);
      assert.match(
        String(answer.headers["content-type"]),
        url.endsWith("yaml") ? /^application\/x-yaml/ : /^application\/json/,
      );
    }
  });

  it("is OpenAPI 3.1 and has every route, and no other", () => {
    assert.equal(document.openapi, "3.1.0");
    assert.deepEqual(
      operations()
        .map(({ name }) => name)
        .sort(),
      ROUTES,
    );
  });

  it("names the right that every operation needs", () => {
    const scopes = new Set<unknown>([...SCOPES, "any", "public"]);
    for (const { name, operation } of operations()) {
      const scope = (operation as { "x-scope"?: unknown })["x-scope"];
      assert.ok(scopes.has(scope), `${name}: ${scope}`);
      const isPublic = /^(GET \/(healthz|readyz|problems.*)|(POST|DELETE) \/v1\/session)$/.test(name);
      assert.equal(scope === "public", isPublic, name);
      const isReading = name.startsWith("GET ") || name === "POST /v1/execution-runs/preview";
      if (scope === "jobs:read") assert.ok(isReading, name);
    }
  });

  it("says of every answer what it means and what it looks like", () => {
    for (const { name, operation } of operations()) {
      assert.ok(operation.operationId && operation.summary, name);
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        assert.ok(description && description !== "Default Response", `${name} ${status}`);
        if (status === "204") continue;
        const media = Object.entries(content ?? {});
        // A graph is JSON or a text for Mermaid or DOT; every other answer has one form.
        assert.equal(media.length, name.endsWith("/graph") && status === "200" ? 3 : 1, `${name} ${status}`);
        for (const [, { schema = {} }] of media) assert.ok(Object.keys(schema).length > 0, `${name} ${status}`);
        if (Number(status) >= 400 && name !== "GET /readyz") assert.equal(media[0]?.[0], "application/problem+json");
      }
    }
  });

  it("has no reference that leads nowhere", () => {
    for (const [, path = ""] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = path.split("/").reduce<unknown>((node, key) => (node as Node | undefined)?.[key], document);
      assert.ok(target, path);
    }
  });

  it("has a page to try it that needs nothing from elsewhere", async () => {
    const page = await api.app.inject({ url: "/docs" });
    assert.equal(page.statusCode, 200, page.headers.location);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = ""]) => url);
    assert.ok(assets.length > 3);
    for (const asset of assets) {
      assert.doesNotMatch(asset, /^(https?:)?\/\//);
      const url = new URL(asset, "http://localhost/docs/").pathname;
      assert.equal((await api.app.inject({ url })).statusCode, 200, url);
    }
    const policy = String(page.headers["content-security-policy"]);
    assert.match(policy, /default-src 'self'.*frame-ancestors 'none'/);
    // On a server without TLS, the browser would request the page's own files by https, where no server listens.
    assert.doesNotMatch(policy, /upgrade-insecure-requests|https:/);
    const settings = await api.app.inject({ url: "/docs/static/swagger-initializer.js" });
    assert.match(settings.body, /"validatorUrl":null/);
  });

  it("carries the name of the product and no logo of the framework", async () => {
    const page = await api.app.inject({ url: "/docs" });
    assert.match(page.body, /<title>Mainspring API<\/title>/);
    const settings = await api.app.inject({ url: "/docs/static/swagger-initializer.js" });
    const logo = /data:image\/svg\+xml;base64,([A-Za-z0-9+/=]+)/.exec(settings.body)?.[1] ?? "";
    assert.match(Buffer.from(logo, "base64").toString(), />Mainspring</);
  });

  const get = (accept?: string) => api.app.inject({ url: "/", headers: accept === undefined ? {} : { accept } });

  it("is where the address that the server prints leads a browser", async () => {
    const answer = await get("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
    assert.deepEqual([answer.statusCode, answer.headers.location, answer.headers.vary], [302, "console/", "accept"]);
  });

  it("is named with the other entrances where a program asks for that address", async () => {
    for (const accept of [undefined, "*/*", "application/json"]) {
      const answer = await get(accept);
      assert.equal(answer.statusCode, 200);
      const { name, version, ...paths } = answer.json();
      assert.deepEqual([name, typeof version], ["mainspring", "string"]);
      for (const url of [paths.docs, paths.openapi, paths.problems])
        assert.equal((await api.app.inject({ url })).statusCode, 200, url);
    }
  });
});
