import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { boundsOf, createHttpServer, HTTP_LIMITS } from "./http-server.ts";
import { RequestTurns } from "./request-turns.ts";

/** Timers that fire when the test says so. */
class Timers extends EventEmitter<{ set: [delayMs: number, run: () => void]; cancel: [] }> {
  readonly setTimer = (delayMs: number, run: () => void) => {
    this.emit("set", delayMs, run);
    return { cancel: () => this.emit("cancel") };
  };
}

const CLOSING: RequestListener = (_request, response) => {
  response.setHeader("connection", "close");
  response.end("last");
};

async function serve(t: TestContext, handle: RequestListener = CLOSING) {
  const timers = new Timers();
  const turns = new RequestTurns({ ...timers, monotonicMs: () => 0, defer: (run) => setImmediate(run) });
  const limits = HTTP_LIMITS;
  const server = createHttpServer({ limits, runtime: timers, connections: boundsOf(limits), turns }, handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => undefined);
  t.after(() => {
    client.destroy();
    server.close();
  });
  const [socket] = await once(server, "connection");
  return { timers, client, socket };
}

async function answerTo(client: Socket, text: string): Promise<string> {
  let heard = "";
  client.on("data", (data) => (heard += data)).write(text);
  await once(client, "end");
  return heard;
}

describe("a CONNECT request", () => {
  const CONNECT = "CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n";

  it("is answered with a problem, and its connection is cut off a second later", async (t) => {
    const { timers, client, socket } = await serve(t);
    const armed = once(timers, "set");
    const heard = await answerTo(client, `${CONNECT}bytes for the other end`);
    assert.match(heard, /^HTTP\/1.1 405 [^]*allow: \r\n[^]*problem\+json[^]*"\/problems\/method-not-allowed"/);
    const [delayMs, cutOff] = await armed;
    assert.equal(delayMs, 1_000);
    client.write("still more of them");
    cutOff();
    assert.equal(socket.destroyed, true);
  });

  it("gets its answer after those to the requests before it", async (t) => {
    const { client } = await serve(t, (_request, response) => setImmediate(() => response.end("first")));
    const heard = await answerTo(client, `GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n${CONNECT}`);
    assert.match(heard, /^HTTP\/1.1 200 [^]*first[^]*HTTP\/1.1 405 /);
  });

  it("leaves the requests before it the news that their client has gone", async (t) => {
    const gone = new EventEmitter();
    const { client } = await serve(t, (request) => request.once("close", () => gone.emit(request.url ?? "")));
    const both = Promise.all([once(gone, "/a"), once(gone, "/b")]);
    client.write(`GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n${CONNECT}`);
    client.destroySoon();
    assert.deepEqual(await both, [[], []]);
  });
});

describe("a connection after its last answer", () => {
  it("is cut off a second later, though its client keeps its half open", async (t) => {
    const { timers, client, socket } = await serve(t);
    const armed = once(timers, "set");
    client.write("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [delayMs, cutOff] = await armed;
    assert.equal(delayMs, 1_000);
    client.resume();
    await once(client, "end");
    assert.equal(socket.destroyed, false, "the client may still send what the answer has crossed");
    cutOff();
    assert.equal(socket.destroyed, true);
  });

  it("is forgotten where its client closes in time", async (t) => {
    const { timers, client } = await serve(t);
    const cancelled = once(timers, "cancel");
    client.write("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.resume();
    await once(client, "end");
    client.end();
    assert.deepEqual(await cancelled, []);
  });
});
