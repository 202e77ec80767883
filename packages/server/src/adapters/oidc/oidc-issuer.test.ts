import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { IssuerUnavailable } from "../../ports/issuer.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { OidcIssuer } from "./oidc-issuer.ts";

describe("an issuer that is asked over HTTP", () => {
  let server: Server;
  let url: string;
  let runtime: ManualRuntime;
  let issuer: OidcIssuer;
  let asked: string[];
  let answers: Record<string, RequestListener>;
  const json =
    (body: unknown): RequestListener =>
    (_, response) =>
      void response.end(JSON.stringify(body));
  const key = { kid: "a", kty: "EC" };
  beforeEach(async () => {
    asked = [];
    server = createServer((request, response) => {
      const path = request.url ?? "";
      asked.push(path);
      const answer = answers[path];
      if (answer === undefined) response.writeHead(404).end();
      else answer(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    runtime = new ManualRuntime();
    issuer = new OidcIssuer(url, runtime);
    answers = {
      "/.well-known/openid-configuration": json({ issuer: url, jwks_uri: `${url}/keys` }),
      "/keys": json({ keys: [key] }),
    };
  });
  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });

  it("is asked for the address of its keys once an hour, and again after a failure", async () => {
    assert.deepEqual(await issuer.keys(), [key]);
    assert.deepEqual(await issuer.keys(), [key]);
    assert.deepEqual(asked, ["/.well-known/openid-configuration", "/keys", "/keys"]);
    await runtime.advance(3_600_000);
    await issuer.keys();
    assert.equal(asked.filter((path) => path !== "/keys").length, 2);
    answers["/keys"] = (_, response) => void response.writeHead(500).end();
    await assert.rejects(issuer.keys(), { message: `${url}/keys: it answered 500` });
    answers["/keys"] = json({ keys: [] });
    assert.deepEqual(await issuer.keys(), []);
    assert.equal(asked.filter((path) => path !== "/keys").length, 3);
  });

  it("gives no keys by an answer that is too large, wrong, elsewhere or of somebody else", async () => {
    const wrong: [string, RequestListener, RegExp][] = [
      ["/keys", json({ keys: Array.from({ length: 101 }, () => key) }), /it has 101 keys, and 100 are allowed/],
      ["/keys", json({ keys: "none" }), /it is no set of keys/],
      ["/keys", json({ keys: [{ kid: 7 }] }), /it is no set of keys/],
      ["/keys", json([key]), /it answered no JSON object/],
      ["/keys", (_, response) => void response.end("<html>"), /it answered no JSON object/],
      ["/keys", json({ keys: [key], more: "x".repeat(300_000) }), /it is larger than 262144 bytes/],
      ["/keys", (_, response) => void response.writeHead(302, { location: "/other" }).end(), /redirect/],
      ["/keys", (_, response) => void response.destroy(), /\/keys: /],
      ["/.well-known/openid-configuration", json({ issuer: `${url}/`, jwks_uri: `${url}/keys` }), /of another issuer/],
      [
        "/.well-known/openid-configuration",
        json({ issuer: url, jwks_uri: "http://login.example/keys" }),
        /jwks_uri must be an https address/,
      ],
    ];
    for (const [path, answer, message] of wrong) {
      const before = answers[path];
      answers[path] = answer;
      const refusal = (error: unknown) => error instanceof IssuerUnavailable && message.test(error.message);
      await assert.rejects(new OidcIssuer(url, runtime).keys(), refusal, String(message));
      if (before !== undefined) answers[path] = before;
    }
  });
});
