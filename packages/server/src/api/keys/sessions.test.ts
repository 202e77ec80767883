import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { InjectOptions } from "fastify";
import { pino } from "pino";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import { KeyAuthenticator } from "../../security/key-authenticator.ts";
import { KeyRing } from "../../security/key-ring.ts";
import { newKey } from "../../security/new-key.ts";
import { SettingsKeys } from "../../security/settings-keys.ts";
import { tenantOf } from "../../security/tenant.ts";
import { startTestApi, type TestApi } from "../api.fixture.ts";
import type { HttpApp } from "../http/http-app.ts";

const KEY = "the-key-of-the-settings";
const ORIGIN = { host: "console.example", origin: "https://console.example" };

describe("sessions of browsers", () => {
  let api: TestApi;
  let app: HttpApp;
  let ring: KeyRing;
  before(async () => {
    api = await startTestApi();
    const runtime = systemRuntime();
    ring = new KeyRing({ store: api.store.keys, runtime, log: pino({ level: "silent" }) });
    await ring.refresh();
    const keys = { apiKey: KEY };
    const parts = { tenants: null, used: null, runtime, staleMs: 60_000 };
    const authenticator = new KeyAuthenticator({ settings: new SettingsKeys(keys), ring, ...parts });
    app = await api.another(keys, undefined, { authenticator });
  });
  after(async () => {
    ring.stop();
    await app.close();
    await api.stop();
  });

  const logIn = (key: string, headers: object = ORIGIN) =>
    app.inject({ method: "POST", url: "/v1/session", headers: { ...headers }, payload: { key } });
  const cookieOf = (answer: { headers: Record<string, unknown> }) => String(answer.headers["set-cookie"]);
  const by = (cookie: string, asked: InjectOptions) =>
    app.inject({ ...asked, headers: { ...asked.headers, cookie: cookie.replace(/;.*/, "") } });

  it("come from a key, as a cookie that scripts and other sites cannot use", async () => {
    const answer = await logIn(KEY);
    assert.equal(answer.statusCode, 200, answer.body);
    assert.equal(answer.json().keyId, "environment");
    assert.match(cookieOf(answer), /^mainspring_session=[\w-]+; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/);
    assert.doesNotMatch(cookieOf(await logIn(KEY, { host: "a", origin: "http://a" })), /Secure/);
    const me = await by(cookieOf(answer), { url: "/v1/me" });
    assert.deepEqual([me.statusCode, me.json().keyId], [200, "environment"]);
  });

  it("are refused for a wrong key, which sets no cookie", async () => {
    const answer = await logIn("a-wrong-key");
    assert.deepEqual([answer.statusCode, answer.headers["set-cookie"]], [401, undefined]);
    assert.equal((await app.inject({ method: "POST", url: "/v1/session", payload: { key: "" } })).statusCode, 400);
  });

  it("change things only for pages of this server", async () => {
    const cookie = cookieOf(await logIn(KEY));
    const change = { method: "PUT", url: "/v1/pools/p", payload: { paused: true } } as const;
    const status = async (headers: object) => (await by(cookie, { ...change, headers: { ...headers } })).statusCode;
    assert.equal(await status({ host: "console.example" }), 403);
    assert.equal(await status({ host: "console.example", origin: "https://elsewhere.example" }), 403);
    assert.equal(await status({ host: "console.example", origin: "null" }), 403);
    assert.equal(await status(ORIGIN), 200);
    const read = await by(cookie, { url: "/v1/pools/p", headers: { host: "console.example" } });
    assert.deepEqual([read.statusCode, read.json().paused], [200, true]);
  });

  it("end with their key", async () => {
    const runtime = systemRuntime();
    const asked = { kind: "READER", name: "r", createdBy: "c", expiresAt: null, tenant: tenantOf("default") } as const;
    const { key, text } = newKey(asked, runtime);
    const note: AuditNote = {
      ...{ tenant: tenantOf("default"), actor: { kind: "OPERATOR", keyId: "c", for: null }, action: "createApiKey" },
      ...{ target: key.id, outcome: "DONE", requestId: "r", address: "127.0.0.1", detail: {} },
    };
    await api.store.keys.create(key, note);
    await ring.refresh();
    const cookie = cookieOf(await logIn(text));
    const list = { url: "/v1/executions" };
    assert.equal((await by(cookie, list)).statusCode, 200);
    assert.equal((await by(cookie, { url: "/v1/cluster" })).statusCode, 403);
    await api.store.keys.revoke({ tenant: tenantOf("default"), isOperator: true }, key.id, runtime.now(), note);
    await ring.refresh();
    assert.equal((await by(cookie, list)).statusCode, 401);
  });

  it("end when the user logs out, and are in the audit log", async () => {
    const out = await app.inject({ method: "DELETE", url: "/v1/session", headers: ORIGIN });
    assert.equal(out.statusCode, 204);
    assert.match(cookieOf(out), /^mainspring_session=; .*Max-Age=0/);
    assert.equal((await app.inject({ method: "DELETE", url: "/v1/session" })).statusCode, 403);
    const audit = await app.inject({ url: "/v1/audit", headers: { authorization: `Bearer ${KEY}` } });
    const logins = audit.json().items.filter(({ action }: { action: string }) => action === "createSession");
    assert.ok(logins.length >= 3);
    assert.doesNotMatch(audit.body, new RegExp(KEY));
  });

  it("are not needed where the server asks for no key", async () => {
    const answer = await api.inject({ method: "POST", url: "/v1/session", payload: { key: KEY } });
    assert.equal(answer.statusCode, 409);
    assert.equal((await api.inject({ url: "/v1/me", headers: { cookie: "mainspring_session=abc" } })).statusCode, 200);
  });
});
