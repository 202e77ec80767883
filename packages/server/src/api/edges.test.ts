import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, it } from "node:test";
import type { InjectOptions } from "fastify";
import { pino } from "pino";
import { StoreUnavailable } from "../ports/store.ts";
import { QueryUnserved } from "../ports/store-errors.ts";
import { playOwner, startTestApi, type TestApi } from "./api.fixture.ts";
import { problemError } from "./http/error-answers.ts";
import { PROBLEM_NAMES } from "./http/errors.ts";
import type { HttpApp } from "./http/http-app.ts";

const KEY = "a-key-of-twenty-chars";
const silent = pino({ level: "silent" });

describe("the edges of the HTTP API", () => {
  let api: TestApi;
  let port: number;
  before(async () => {
    api = await startTestApi();
    await api.app.listen({ host: "127.0.0.1", port: 0 });
    port = (api.app.server.address() as AddressInfo).port;
  });
  after(() => api.stop());

  /** Sends bytes unchanged, and returns everything until the server closes the connection. */
  const converse = async (text: string): Promise<string> => {
    const socket = connect(port, "127.0.0.1");
    let heard = "";
    socket.on("data", (data) => (heard += data)).on("error", () => {});
    socket.write(text);
    await once(socket, "close");
    return heard;
  };
  const problemOf = async (app: HttpApp, request: InjectOptions) => {
    const { statusCode, body } = await app.inject(request);
    return [statusCode, body.startsWith("{") ? JSON.parse(body).type : body];
  };

  it("refuses a body that says it is too large before any of it was sent", async () => {
    const head = `POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
    const heard = await converse(`${head}Content-Length: 1500000\r\n\r\n`);
    assert.match(heard, /^HTTP\/1.1 413 /);
    assert.match(heard, /"\/problems\/payload-too-large"/);
  });

  it("refuses a body that does not say how large it is as soon as it is too large", async () => {
    const sending = httpRequest({
      ...{ host: "127.0.0.1", port, method: "POST", path: "/v1/jobs" },
      headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
    });
    sending.on("error", () => {});
    const answered = once(sending, "response");
    // The request never ends, so an answer can only come before the server has read all of it.
    sending.write('{"payload":"');
    for (let i = 0; i < 24; i++) sending.write("x".repeat(64 * 1024));
    const [response] = await answered;
    assert.equal(response.statusCode, 413);
    sending.destroy();
  });

  it("answers a problem to what is no HTTP, or has too many headers", async () => {
    assert.match(await converse("NONSENSE\r\n\r\n"), /^HTTP\/1.1 400 [^]*"\/problems\/malformed-http"/);
    const large = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    assert.match(await converse(large), /^HTTP\/1.1 431 [^]*"\/problems\/headers-too-large"/);
    assert.deepEqual(await problemOf(api.app, { url: "/v1/jobs/%zz" }), [400, "/problems/malformed-http"]);
  });

  it("refuses a body at its first bad byte, before the rest of it was sent", async () => {
    const head = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const heard = await converse(`${head}Content-Length: 100000\r\n\r\n{"target":}`);
    assert.match(heard, /^HTTP\/1.1 400 [^]*"the body is not JSON: look at position 10 \(line 1 column 11\)"/);
  });

  it("answers a problem where Host is missing, given twice or no loopback address, and where Expect is unknown", async () => {
    const ask = (headers: string, version = "1.1") =>
      converse(`GET /v1/jobs HTTP/${version}\r\n${headers}Connection: close\r\n\r\n`);
    assert.match(await ask(""), /^HTTP\/1.1 400 [^]*problem\+json[^]*"\/problems\/malformed-http"/);
    assert.match(
      await ask("Host: localhost\r\nHost: evil.example\r\n"),
      /^HTTP\/1.1 400 [^]*"\/problems\/malformed-http"/,
    );
    assert.match(await ask("Host: localhost\r\nhost: localhost\r\n"), /^HTTP\/1.1 400 /);
    assert.match(await ask("", "1.0"), /^HTTP\/1.1 403 /);
    for (const host of ["127.999.1.1", "127.0.0.256", "127.0.0.1:123456", "127.0.0"]) {
      assert.match(await ask(`Host: ${host}\r\n`), /^HTTP\/1.1 403 /, host);
    }
    assert.match(await ask("Host: 127.255.0.1:8080\r\n"), /^HTTP\/1.1 200 /);
    const expecting = await ask("Host: localhost\r\nExpect: foo\r\n");
    assert.match(expecting, /^HTTP\/1.1 417 [^]*problem\+json[^]*"\/problems\/expectation-failed"/);
  });

  it("answers a problem to a request for a tunnel", async () => {
    const heard = await converse("CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n");
    assert.match(heard, /^HTTP\/1.1 405 [^]*problem\+json[^]*"\/problems\/method-not-allowed"/);
  });

  it("refuses an encoded body before it reads any of it, and says that it decodes none", async () => {
    const head = "POST /v1/jobs/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    for (const encoding of ["gzip", "br", "identity, gzip", "x"]) {
      const heard = await converse(`${head}Content-Encoding: ${encoding}\r\nContent-Length: 1000000\r\n\r\n`);
      assert.match(
        heard,
        /^HTTP\/1.1 415 [^]*accept-encoding: identity[^]*"\/problems\/unsupported-media-type"/,
        encoding,
      );
      assert.match(heard, /"send the body as it is, without Content-Encoding: the server decodes no gzip, br/);
    }
    const body = '{"jobs":[]}';
    const transfer = await converse(`${head}Transfer-Encoding: gzip, chunked\r\n\r\n`);
    assert.match(transfer, /^HTTP\/1.1 415 /);
    const plain = `${head}Connection: close\r\nContent-Encoding: identity\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    assert.match(await converse(plain), /^HTTP\/1.1 400 [^]*"\/problems\/invalid-request"/);
  });

  it("tells an unknown path from a method that a path does not have", async () => {
    for (const url of ["/v1/crons", "/docs/static/nothing", "/docs/static/..%2f..%2fpackage.json"]) {
      assert.deepEqual(await problemOf(api.app, { url }), [404, "/problems/not-found"]);
    }
    const answer = await api.app.inject({ method: "PATCH", url: "/v1/jobs/019a0000-0000-7000-8000-000000000000" });
    assert.equal(answer.statusCode, 405);
    assert.equal(answer.headers.allow, "DELETE, GET, HEAD, PUT");
    const posted = await api.app.inject({ method: "PUT", url: "/v1/jobs", payload: "not json" });
    assert.equal(posted.statusCode, 405);
    assert.equal(posted.headers.allow, "GET, HEAD, POST");
    // The path equals that of another route literally, although it would also be a valid job id.
    const batch = await api.app.inject({ method: "GET", url: "/v1/jobs/batch?x=1" });
    assert.deepEqual([batch.statusCode, batch.headers.allow], [405, "POST"]);
    const query = await api.app.inject({ method: "QUERY" as "GET", url: "/v1/jobs" });
    assert.deepEqual([query.statusCode, query.headers.allow], [405, "GET, HEAD, POST"]);
  });

  it("looks at no body for a route that does not exist", async () => {
    const headers = { "content-type": "text/plain", "content-length": "99999999" };
    const answer = await api.app.inject({ method: "POST", url: "/v1/nothing", headers, payload: "x" });
    assert.deepEqual([answer.statusCode, answer.json().type], [404, "/problems/not-found"]);
  });

  it("without a key serves loopback names only, and no pages of elsewhere", async () => {
    for (const host of ["localhost:8080", "127.0.0.1", "[::1]:8080"]) {
      assert.equal((await api.app.inject({ url: "/v1/jobs", headers: { host } })).statusCode, 200, host);
    }
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "8.8.8.8"]) {
      assert.deepEqual(await problemOf(api.app, { url: "/v1/jobs", headers: { host } }), [403, "/problems/forbidden"]);
    }
    const host = "localhost:8080";
    const own = { url: "/v1/jobs", headers: { host, origin: "http://localhost:8080" } };
    const answer = await api.app.inject(own);
    assert.deepEqual([answer.statusCode, answer.headers["x-content-type-options"]], [200, "nosniff"]);
    for (const origin of ["https://evil.example", "null", "http://localhost:9090"]) {
      const foreign = { url: "/v1/jobs", headers: { host, origin } };
      assert.deepEqual(await problemOf(api.app, foreign), [403, "/problems/forbidden"], origin);
    }
  });

  it("with a key asks for it everywhere but where nothing is told of the jobs", async () => {
    const app = await api.another({ apiKey: KEY });
    const headers = { host: "jobs.example" };
    for (const url of ["/v1/jobs", "/v1/stats", "/metrics", "/nowhere"]) {
      assert.deepEqual(await problemOf(app, { url, headers }), [401, "/problems/unauthorized"]);
    }
    for (const authorization of [`Bearer ${KEY}x`, `Basic ${KEY}`, KEY, "Bearer "]) {
      assert.equal((await app.inject({ url: "/v1/jobs", headers: { ...headers, authorization } })).statusCode, 401);
    }
    const authorization = `Bearer ${KEY}`;
    assert.equal((await app.inject({ url: "/v1/jobs", headers: { ...headers, authorization } })).statusCode, 200);
    for (const url of ["/", "/healthz", "/readyz", "/docs", "/openapi.json", "/problems", "/problems/internal"]) {
      assert.notEqual((await app.inject({ url, headers })).statusCode, 401, url);
    }
    await app.close();
  });

  it("explains every problem that it answers with", async () => {
    for (const name of PROBLEM_NAMES) {
      const answer = await api.inject({ method: "GET", url: `/problems/${name}` });
      assert.equal(answer.json().type, `/problems/${name}`);
    }
    const all: { type: string }[] = (await api.inject({ method: "GET", url: "/problems" })).json().items;
    assert.deepEqual(
      all.map(({ type }) => type),
      PROBLEM_NAMES.map((name) => `/problems/${name}`),
    );
    for (const name of ["toString", "__proto__", "constructor", "%5F_proto__"]) {
      assert.equal((await api.inject({ method: "GET", url: `/problems/${name}` })).statusCode, 404, name);
    }
  });

  it("tells what the node is", async () => {
    const stats = (await api.inject({ method: "GET", url: "/v1/stats" })).json();
    assert.deepEqual(stats, {
      version: "0.1.0",
      node: api.bus.node,
      timeZoneData: "2026f",
      timeZoneDataAgeDays: stats.timeZoneDataAgeDays,
      addresses: { http: "http://127.0.0.1:8080", grpc: "127.0.0.1:8081" },
      nodes: [{ node: api.bus.node, roles: ["api"] }],
      workers: { connected: 0 },
      shards: { total: 64, owned: 0 },
      executions: {
        ...{ waiting: 0, ready: stats.executions.ready, running: 0, deadLetters: 0 },
        ...{ openRuns: stats.executions.openRuns, countedUpTo: 10_000 },
      },
      store: [{ purpose: "commit", busy: 0, max: 1, waiting: 0 }],
      finished: ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"].map((state) => ({ state, count: 0 })),
      recurring: { planned: 0, run: 0, late: 0, skipped: 0, missed: 0 },
      lateness: { p50Ms: null, p99Ms: null, starts: 0 },
      durability: { store: "EMBEDDED", disk: "ALWAYS", replicas: 0 },
    });
    assert.deepEqual((await api.inject({ method: "GET", url: "/healthz" })).json(), { status: "ok" });
    const { status, durability } = (await api.inject({ method: "GET", url: "/readyz" })).json();
    assert.deepEqual([status, durability], ["ready", { store: "EMBEDDED", disk: "ALWAYS", replicas: 0 }]);
    assert.match((await api.inject({ method: "GET", url: "/metrics" })).body, /mainspring_up 1/);
    assert.ok(api.counted.includes("GET /v1/stats 200"));
  });

  it("lists workers page by page, those that connected last first", async () => {
    const end = api.bus.listen("gateway", (envelopes) => {
      for (const { from, message } of envelopes) {
        if (message.kind !== "LIST_WORKERS") continue;
        const workers = ["a", "b", "c"].map((workerId, index) => ({
          ...{ workerId, name: workerId, pool: "default", handlers: ["echo"], capabilities: [], slots: 1, prefetch: 0 },
          ...{ state: "ALIVE" as const, running: 0, connectedAt: 1_700_000_000_000 + index, loopLagMs: 0 },
          lastHeartbeatAt: 1_700_000_000_000,
          ...(workerId === "c" && { free: 0, stuck: 1 }),
        }));
        api.bus.send({ node: from, role: "api" }, { kind: "WORKERS", request: message.request, workers });
      }
    });
    const first = (await api.inject({ method: "GET", url: "/v1/workers?limit=2" })).json();
    const second = (await api.inject({ method: "GET", url: `/v1/workers?limit=2&cursor=${first.nextCursor}` })).json();
    end();
    const slots = first.items.map(({ free, stuck }: { free: number; stuck: number }) => [free, stuck]);
    assert.deepEqual(
      slots,
      [
        [0, 1],
        [1, 0],
      ],
      "of b nothing is said, by a server of the release before",
    );
    const names = [...first.items, ...second.items].map(({ workerId }: { workerId: string }) => workerId);
    assert.deepEqual(names, ["c", "b", "a"]);
    assert.equal(second.nextCursor, null);
  });

  it("no longer watches what a client waited for that has gone", async () => {
    const job = { target: { handler: "echo" } };
    const { executionId } = (await api.inject({ method: "POST", url: "/v1/jobs", payload: job })).json();
    const news = new EventEmitter();
    const end = playOwner(api.bus, (message) => news.emit(message.kind));
    const socket = connect(port, "127.0.0.1");
    const watched = once(news, "WATCH");
    socket.write(`GET /v1/executions/${executionId}?waitSec=60 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await watched;
    const unwatched = once(news, "UNWATCH");
    socket.destroy();
    assert.deepEqual(await unwatched, []);
    end();
  });

  it("lets go of who waits when it is closed", async () => {
    const app = await api.another({ apiKey: null });
    const { executionId } = (
      await app.inject({ method: "POST", url: "/v1/jobs", payload: { target: { handler: "echo" } } })
    ).json();
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    const waiting = fetch(`${url}/v1/executions/${executionId}?waitSec=60`);
    await once(app.server, "request");
    await app.close();
    const answer = (await (await waiting).json()) as { state: string };
    assert.equal(answer.state, "PENDING");
  });

  it("answers 503 and when to come again while the store is away", async () => {
    await api.loseStore();
    const job = { target: { handler: "echo" } };
    for (const request of [
      { method: "POST" as const, url: "/v1/jobs", payload: job },
      { method: "POST" as const, url: "/v1/jobs/batch", payload: { jobs: [job] } },
      { method: "GET" as const, url: "/v1/executions" },
    ]) {
      const answer = await api.inject(request);
      assert.equal(answer.statusCode, 503, answer.body);
      assert.equal(answer.headers["retry-after"], "1");
      assert.equal(answer.json().type, "/problems/unavailable");
      assert.doesNotMatch(answer.body, /ECONN|socket|sql/i);
    }
  });

  it("tells a list that took too long from a store that is away", async () => {
    const { queries } = api.store;
    queries.listJobs = () => Promise.reject(new StoreUnavailable("too long", { isListTimeout: true }));
    const answer = await api.inject({ method: "GET", url: "/v1/jobs?label=a" });
    assert.equal(answer.statusCode, 503);
    assert.equal(answer.json().type, "/problems/list-timeout");
  });

  it("has a problem of its own for a query that the store never serves", () => {
    const error = new QueryUnserved("requests in SQL", "submit over HTTP");
    const { problem } = problemError(error, pino({ level: "silent" }));
    assert.deepEqual([problem.status, problem.type], [422, "/problems/query-unserved"]);
    assert.match(problem.detail ?? "", /requests in SQL: submit over HTTP/);
  });

  it("says what may have become of a request while the store is away", async () => {
    await api.loseStore();
    const payload = { target: { handler: "echo" } };
    const unasked = await api.inject({ method: "POST", url: "/v1/jobs", payload });
    assert.match(unasked.json().detail, /nothing was changed/);

    const detailOf = (headers: Record<string, string>) =>
      problemError(new StoreUnavailable("no answer"), silent, { method: "POST", headers }).problem.detail ?? "";
    assert.match(detailOf({}), /may or may not have taken effect/);
    assert.match(detailOf({ "idempotency-key": "a" }), /repeat the request with the same Idempotency-Key/);
  });
});
