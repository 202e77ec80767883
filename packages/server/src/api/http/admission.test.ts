import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { it, type TestContext } from "node:test";
import pino from "pino";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import type { Authenticator, Principal } from "../../ports/authenticator.ts";
import { tenantOf } from "../../security/tenant.ts";
import { countingMetrics } from "../api.fixture.ts";
import { createHttpApp } from "./http-app.ts";

const clock = { ms: 0 };

/** Takes the name of a tenant as its key. */
const authenticator: Authenticator = {
  isOpen: false,
  judge: (authorization) => {
    const name = /^Bearer (\w+)$/.exec(authorization ?? "")?.[1];
    if (name === undefined) return { code: "UNAUTHENTICATED", detail: "no key" };
    const kind: Principal["kind"] = name === "operator" ? "OPERATOR" : "CLIENT";
    return { keyId: name, source: "STORE", kind, tenant: tenantOf(name), scopes: new Set(), pools: [] };
  },
  actingFor: () => null,
  stateOf: () => "ACTIVE",
  judgeAgain: () => null,
  hold: () => () => undefined,
};

async function serve(t: TestContext) {
  const runtime = { ...systemRuntime(), monotonicMs: () => clock.ms };
  const app = createHttpApp({
    ...{ authenticator, metrics: countingMetrics([]), log: pino({ level: "silent" }), runtime },
    limits: { unknownConnections: 1, tenantConnections: 1, lingerMs: 10 },
    tenants: { hasSeveral: true },
  });
  app.get("/mine", { config: { scope: "any" } }, () => ({}));
  await app.listen({ host: "127.0.0.1", port: 0 });
  t.after(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return { app, port: (app.server.address() as AddressInfo).port };
}

it("a tenant beside others has as many connections as a tenant may have, and operators have more", async (t) => {
  const { app, port } = await serve(t);
  const ask = async (agent: Agent, key: string) => {
    const request = get({ host: "127.0.0.1", port, path: "/mine", agent, headers: { authorization: `Bearer ${key}` } });
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    return { answer, body: JSON.parse(await text(answer)) as { detail?: string } };
  };
  const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  const [first, second, third, fourth] = agents as [Agent, Agent, Agent, Agent];
  assert.equal((await ask(first, "acme")).answer.statusCode, 200);
  const { answer, body } = await ask(second, "acme");
  assert.deepEqual([answer.statusCode, answer.headers["retry-after"], answer.headers.connection], [429, "5", "close"]);
  assert.match(body.detail ?? "", /the tenant has as many connections open as a tenant may have/);
  assert.equal((await ask(first, "acme")).answer.statusCode, 200);
  assert.equal((await ask(third, "other")).answer.statusCode, 200);
  for (const agent of [third, fourth]) assert.equal((await ask(agent, "operator")).answer.statusCode, 200);
  assert.equal(app.admissions().httpRefused?.get("TENANT_CONNECTIONS"), 1);
});

it("a connection without a good key is closed with the reason when too many others are there", async (t) => {
  const { app, port } = await serve(t);
  const open = async () => {
    const admitted = once(app.server, "connection");
    const socket = connect({ host: "127.0.0.1", port });
    t.after(() => socket.destroy());
    await admitted;
    return socket;
  };
  const oldest = await open();
  const second = await open();
  clock.ms += 1_000;
  const newest = await open();
  assert.match(await text(oldest), /^HTTP\/1.1 429 [^]*too many connections wait for their first request/);
  assert.deepEqual([second.closed, newest.closed], [false, false]);
  assert.deepEqual(
    [app.admissions().httpConnections?.get("UNKNOWN"), app.admissions().httpRefused?.get("UNKNOWN")],
    [2, 1],
  );
});
