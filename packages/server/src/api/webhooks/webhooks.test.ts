import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";
import { deliveryOf } from "../../domain/webhook.ts";
import { startTestApi, type TestApi } from "../api.fixture.ts";

const headers = { "content-type": "application/json" };
const NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057";
const HOOK = "https://hooks.example/a";

describe("webhooks over HTTP", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  const send = async (method: "GET" | "POST" | "PUT" | "DELETE", url: string, payload?: object) => {
    const answer = await api.inject({ method, url, ...(payload && { headers, payload }) });
    return { status: answer.statusCode, body: answer.body === "" ? null : answer.json() };
  };
  const created = async (more: object = {}) => (await send("POST", "/v1/webhooks", { url: HOOK, ...more })).body;
  /** Adds deliveries to a subscription, and keeps the result FAILED of the first `failed` of them. */
  const withDeliveries = async (webhook: string, count: number, failed: number) => {
    const now = Date.parse("2030-01-01T00:00:00Z");
    const ids = Array.from({ length: count }, (_, i) => `01890a5d-ac96-774b-bcce-b302099a80${i + 10}`);
    const deliveries = ids.map((executionId) => {
      const event = { ...NO_EVENT_FIELDS, kind: "JobCompleted" as const, at: now, executionId };
      const of = { tenant: "default", pool: "default", handler: "echo", attempt: 1, jobVersion: 1 };
      return { ...deliveryOf(webhook, HOOK, { ...event, ...of }), shard: 1 };
    });
    await api.store.webhooks.addDeliveries(deliveries, now);
    const of = { kind: "SUBSCRIPTION", tenant: "default", url: HOOK, tries: 0, webhook } as const;
    const result = { state: "FAILED", nextAt: null, status: 500, error: "no", isGone: false } as const;
    const results = deliveries.slice(0, failed).map(({ id }) => ({ delivery: { ...of, id }, ...result }));
    if (failed > 0) await api.store.webhooks.settle(results, now, 86_400_000);
    return deliveries.map(({ id }) => id).sort();
  };

  it("are subscribed, listed by page, read and removed; only the first answer has the secret", async () => {
    const filter = { kinds: ["JobCompleted", "JobDeadLettered"], handler: "echo", pool: "mail" };
    const first = await created(filter);
    const second = await created();
    assert.match(first.secret, /^whsec_/);
    const { secret: _, ...shown } = first;
    assert.deepEqual((await send("GET", `/v1/webhooks/${first.webhookId}`)).body, shown);
    assert.deepEqual(
      [shown.kind, shown.state, shown.url, shown.kinds, shown.handler, shown.pool],
      ["SUBSCRIPTION", "ACTIVE", HOOK, filter.kinds, "echo", "mail"],
    );
    assert.deepEqual([second.kinds, second.handler, second.pool], [null, null, null]);
    const page = (await send("GET", "/v1/webhooks?limit=1")).body;
    assert.deepEqual(page.items, [shown]);
    const rest = (await send("GET", `/v1/webhooks?limit=10&cursor=${page.nextCursor}`)).body;
    assert.deepEqual(
      [rest.items.map(({ webhookId }: { webhookId: string }) => webhookId), rest.nextCursor],
      [[second.webhookId], null],
    );
    for (const { webhookId } of [first, second])
      assert.equal((await send("DELETE", `/v1/webhooks/${webhookId}`)).status, 204);
    assert.equal((await send("GET", `/v1/webhooks/${first.webhookId}`)).status, 404);
  });

  it("are refused with what would be right", async () => {
    for (const [payload, field] of [
      [{ url: "https://refused.example/" }, "url"],
      [{ url: HOOK, kinds: [] }, "kinds"],
      [{ url: HOOK, kinds: ["JobExploded"] }, "kinds[0]"],
      [{ url: HOOK, secret: "whsec_mine" }, "secret"],
      [{}, "url"],
    ] as const) {
      const { status, body } = await send("POST", "/v1/webhooks", payload);
      assert.deepEqual([status, body.errors[0].field], [400, field]);
    }
    const refused = { target: { handler: "echo" }, onFinish: { url: "https://refused.example/" } };
    for (const [method, url, body] of [
      ["POST", "/v1/jobs", refused],
      ["PUT", "/v1/jobs/by-name/told", refused],
      ["POST", "/v1/workflows", { onFinish: refused.onFinish, nodes: [{ name: "a", target: { handler: "echo" } }] }],
    ] as const) {
      const answer = await send(method, url, body);
      assert.deepEqual([answer.status, answer.body.errors[0].field], [400, "onFinish.url"], url);
    }
    const { body } = await send("POST", "/v1/jobs/batch", { jobs: [{ target: { handler: "echo" } }, refused] });
    assert.deepEqual([body.items[0].error, body.items[1].error.errors[0].field], [undefined, "onFinish.url"]);
    for (const path of ["", "/deliveries"])
      assert.equal((await send("GET", `/v1/webhooks/${NOBODY}${path}`)).status, 404);
    for (const path of ["enable", "disable", "rotate-secret"])
      assert.equal((await send("POST", `/v1/webhooks/${NOBODY}/${path}`)).status, 404);
    assert.equal((await send("POST", `/v1/webhooks/${NOBODY}/replay`, { since: "2030-01-01T00:00:00Z" })).status, 404);
  });

  it("are refused with texts that the store cannot keep", async () => {
    const url = "https://receiver.example/\u0000";
    const job = { target: { handler: "echo" }, onFinish: { url } };
    for (const [path, body] of [
      [`/v1/webhooks/${NOBODY}/disable`, { reason: "gone\u0000" }],
      ["/v1/webhooks", { url }],
      ["/v1/jobs", job],
    ] as const)
      assert.equal((await send("POST", path, body)).status, 400, path);
  });

  it("have deliveries, by page and state, which are replayed", async () => {
    const { webhookId } = await created();
    const ids = await withDeliveries(webhookId, 3, 2);
    const path = `/v1/webhooks/${webhookId}`;
    const page = (await send("GET", `${path}/deliveries?limit=2`)).body;
    const rest = (await send("GET", `${path}/deliveries?limit=2&cursor=${page.nextCursor}`)).body;
    const listed = [...page.items, ...rest.items].map(({ deliveryId }) => deliveryId);
    assert.deepEqual([listed, rest.nextCursor], [ids.reverse(), null]);
    const failed = (await send("GET", `${path}/deliveries?state=FAILED`)).body.items;
    assert.deepEqual(
      failed.map(({ status, error, tries, nextTryAt }: Record<string, unknown>) => [status, error, tries, nextTryAt]),
      [
        [500, "no", 1, null],
        [500, "no", 1, null],
      ],
    );
    const wrong = [
      {},
      { deliveryIds: [failed[0].deliveryId], since: "2030-01-01T00:00:00Z" },
      { until: "2030-01-01T00:00:00Z" },
    ];
    for (const body of wrong) assert.equal((await send("POST", `${path}/replay`, body)).status, 400);
    const one = await send("POST", `${path}/replay`, { deliveryIds: [failed[0].deliveryId] });
    assert.deepEqual(one.body, { replayed: 1 });
    const none = { since: "2029-01-01T00:00:00Z", until: "2029-02-01T00:00:00Z" };
    assert.deepEqual((await send("POST", `${path}/replay`, none)).body, { replayed: 0 });
    const all = { since: "2029-01-01T00:00:00Z", until: "2030-02-01T00:00:00Z" };
    const disabled = await send("POST", `${path}/disable`, { reason: "moving" });
    assert.deepEqual([disabled.body.state, disabled.body.disabledReason], ["DISABLED", "moving"]);
    const refused = await send("POST", `${path}/replay`, all);
    assert.deepEqual([refused.status, /DISABLED \(moving\)/.test(refused.body.detail)], [409, true]);
    assert.equal((await send("POST", `${path}/enable`)).body.state, "ACTIVE");
    assert.deepEqual((await send("POST", `${path}/replay`, all)).body, { replayed: 1 });
    assert.equal((await send("GET", `${path}/deliveries?state=FAILED`)).body.items.length, 0);
    const rotated = (await send("POST", `${path}/rotate-secret`)).body;
    assert.match(rotated.secret, /^whsec_/);
  });

  it("are taken only when every server of the cluster knows of them", async () => {
    const older = { address: "http://older:8080", version: "0.0.9", level: 2 };
    const app = await api.another({ apiKey: null }, (feature) => (feature === "WEBHOOKS" ? older : null));
    const job = { target: { handler: "echo" }, onFinish: { url: HOOK } };
    for (const [method, url, payload] of [
      ["POST", "/v1/jobs", job],
      ["PUT", "/v1/jobs/by-name/told", job],
      ["POST", "/v1/webhooks", { url: HOOK }],
    ] as const) {
      const answer = await app.inject({ method, url, headers, payload });
      assert.deepEqual([answer.statusCode, /does not know of webhooks/.test(answer.json().detail)], [409, true], url);
    }
    await app.close();
  });

  it("are shown with their job", async () => {
    const { jobId } = (await send("POST", "/v1/jobs", { target: { handler: "echo" }, onFinish: { url: `${HOOK}?b` } }))
      .body;
    assert.deepEqual((await send("GET", `/v1/jobs/${jobId}`)).body.onFinish, { url: `${HOOK}?b` });
  });
});
