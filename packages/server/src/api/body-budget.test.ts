import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import Fastify from "fastify";
import { limitBodies } from "./body-budget.ts";
import { ProblemError } from "./errors.ts";

const LARGE_BYTES = 60_000;

it("turns a large body away while others fill the memory, small ones never, and all of them fit again later", async (t) => {
  const app = Fastify();
  limitBodies(app, 100_000);
  app.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof ProblemError ? error.problem.status : 500).send(),
  );
  app.post("/", async () => "taken");
  await app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const begin = (bytes: number) => {
    const headers = { "content-type": "text/plain", "content-length": bytes };
    const sending = httpRequest({ host: "127.0.0.1", port, method: "POST", headers, agent: false });
    return { sending, status: once(sending, "response").then(([response]) => response.resume().statusCode as number) };
  };

  const arrived = once(app.server, "request");
  const first = begin(LARGE_BYTES);
  first.sending.flushHeaders();
  await arrived;
  const second = begin(LARGE_BYTES);
  second.sending.flushHeaders();
  assert.equal(await second.status, 429);
  second.sending.destroy();
  const small = begin(10);
  small.sending.end("x".repeat(10));
  assert.equal(await small.status, 200);

  first.sending.end("x".repeat(LARGE_BYTES));
  assert.equal(await first.status, 200);
  const third = begin(LARGE_BYTES);
  third.sending.end("x".repeat(LARGE_BYTES));
  assert.equal(await third.status, 200);
});
