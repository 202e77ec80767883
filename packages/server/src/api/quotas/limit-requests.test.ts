import assert from "node:assert/strict";
import { it } from "node:test";
import Fastify from "fastify";
import { tenantOf } from "../../security/tenant.ts";
import { limitRequests } from "./limit-requests.ts";

it("bounds the requests of a tenant that are open at once, apart from its waits and streams, and none of operators", async () => {
  const app = Fastify();
  const answers: (() => void)[] = [];
  app.decorateRequest("principal", null);
  app.addHook("onRequest", async (request) => {
    const tenant = tenantOf(String(request.headers["tenant"]));
    const kind = request.headers["kind"] === "OPERATOR" ? "OPERATOR" : "CLIENT";
    request.principal = { keyId: "key", source: "STORE", kind, tenant, scopes: new Set(), pools: [] };
  });
  limitRequests(app, { chargeRequest: () => null }, { hasSeveral: true }, { short: 2, long: 1 });
  let heard = () => {};
  const held = () =>
    new Promise<string>((resolve) => {
      answers.push(() => resolve("done"));
      heard();
    });
  /** Waits until so many requests are open. */
  const opened = (count: number) =>
    new Promise<void>((resolve) => {
      heard = () => void (answers.length >= count && resolve());
      heard();
    });
  app.get("/work", held);
  app.get("/events", held);
  const ask = async (url: string, tenant = "acme", kind = "CLIENT") =>
    await app.inject({ url, headers: { tenant, kind } });
  const open = [ask("/work"), ask("/work"), ask("/work?waitSec=9"), ask("/work", "bolt")];
  open.push(...Array.from({ length: 5 }, () => ask("/work", "acme", "OPERATOR")));
  await opened(open.length);
  for (const url of ["/work", "/work?waitSec=9", "/events"]) assert.equal((await ask(url)).statusCode, 500);
  for (const answer of answers.splice(0)) answer();
  assert.ok((await Promise.all(open)).every(({ statusCode }) => statusCode === 200));
  const again = ask("/work");
  await opened(1);
  answers[0]?.();
  assert.equal((await again).statusCode, 200);
  await app.close();
});
