import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { startTestApi, type TestApi } from "../api.fixture.ts";
import type { HttpApp } from "./http-app.ts";

const COUNTS = { connections: 3, peerConnections: 2, reservedConnections: 2, pipelined: 4, lingerMs: 30 };
const TIMES = { headersTimeoutMs: 60, requestTimeoutMs: 120, checkIntervalMs: 20, lingerMs: 30 };
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const POST = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

describe("clients", () => {
  let api: TestApi;
  let app: HttpApp;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());
  const serve = (httpLimits: object) => {
    before(async () => {
      app = await api.another({ apiKey: null, httpLimits });
      await app.listen({ host: "127.0.0.1", port: 0 });
    });
    after(() => app.close());
  };

  const open = async (from = "127.0.0.1", options = {}): Promise<Socket> => {
    const { port } = app.server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1", localAddress: from, ...options });
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  /** Everything until the server ends the connection, which it must do by itself. */
  const heardBy = async (socket: Socket): Promise<string> => {
    let heard = "";
    socket.on("data", (data) => (heard += data));
    await once(socket, "close");
    return heard;
  };
  const ask = async (text: string, from?: string): Promise<string> => {
    const socket = await open(from);
    socket.write(text);
    return heardBy(socket);
  };
  const openAtServer = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
  const allClosed = async () => {
    while ((await openAtServer()) > 0) await new Promise((resolve) => setImmediate(resolve));
  };

  describe("that take their time", () => {
    serve(TIMES);

    it("are told that it took too long where their headers do not end", async () => {
      const heard = await ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
      assert.match(heard, /^HTTP\/1.1 408 [^]*"\/problems\/request-timeout"/);
    });

    it("are told so where their body does not end", async () => {
      const heard = await ask(`${POST}Content-Length: 99\r\n\r\n{"target":`);
      assert.match(heard, /^HTTP\/1.1 408 [^]*"\/problems\/request-timeout"/);
    });

    it("are told so where a byte of it comes now and then", async () => {
      const socket = await open();
      socket.write(`${POST}Content-Length: 1000000\r\n\r\n{"name":"`);
      const heard = heardBy(socket);
      for (; !socket.destroyed; await new Promise((resolve) => setImmediate(resolve))) socket.write("x");
      assert.match(await heard, /^HTTP\/1.1 408 [^]*"\/problems\/request-timeout"/);
    });

    it("are cut off after their last answer, though they never close", async () => {
      const endless = `${POST}Content-Length: 5000000\r\n\r\n{"target":`;
      for (const [text, status] of [
        ["GET /healthz HTTP/1.1\r\nHost: loc", 408],
        ["NONSENSE\r\n\r\n", 400],
        [`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}`, 431],
        [endless, 413],
        [`${POST}Content-Length: 5000\r\n\r\n]`, 400],
      ] as const) {
        // The client keeps its half of the connection open and continues to send.
        const socket = await open("127.0.0.1", { allowHalfOpen: true });
        const answered = once(socket, "data");
        socket.write(text);
        assert.match(String((await answered)[0]), new RegExp(`^HTTP/1.1 ${status} `));
        await allClosed();
        socket.destroy();
      }
    });

    it("hear the answer though they still send what it refuses", async () => {
      const socket = await open();
      const head = `${POST}Content-Length: 1100000\r\n\r\n`;
      socket.write(`${head}]${"x".repeat(1_000_000)}`);
      assert.match(await heardBy(socket), /^HTTP\/1.1 400 [^]*"\/problems\/malformed-json"/);
    });
  });

  describe("that take too much", () => {
    serve(COUNTS);

    it("cannot have more connections from one address than there are for it, and others have theirs", async () => {
      const held = [await open(), await open()];
      const refused = await ask(GET("/v1/jobs"));
      assert.match(refused, /^HTTP\/1.1 429 [^]*Connection: close[^]*"\/problems\/too-many-requests"/i);
      const other = await open("127.0.0.2");
      other.write(GET("/v1/jobs"));
      assert.match(String((await once(other, "data"))[0]), /^HTTP\/1.1 200 /);
      for (const socket of [...held, other]) socket.destroy();
      await allClosed();
    });

    it("leave room for health checks, whatever they hold", async () => {
      const held = await Promise.all([open(), open(), open("127.0.0.2"), open("127.0.0.2"), open(), open()]);
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        assert.match(await ask(GET(path)), /^HTTP\/1.1 200 [^]*connection: close/i, path);
      }
      assert.match(await ask(GET("/v1/jobs"), "127.0.0.3"), /^HTTP\/1.1 429 /);
      for (const socket of held) socket.destroy();
      await allClosed();
    });

    it("cannot ask for many answers at once on one connection", async () => {
      const heard = await ask(GET("/v1/jobs").repeat(1_000));
      assert.equal(heard.match(/HTTP\/1.1 200 /g)?.length, COUNTS.pipelined);
      assert.match(heard, /HTTP\/1.1 429 [^]*"too many requests wait on this connection: wait for their answers"/);
    });

    it("take up no memory for what they announce and do not send", async () => {
      const announcing = await Promise.all(
        ["127.0.0.1", "127.0.0.1"].map(async (from) => {
          const socket = await open(from);
          const batch = POST.replace("/v1/jobs", "/v1/jobs/batch");
          socket.write(`${batch}Content-Length: ${32 * 1024 * 1024}\r\n\r\n{`);
          return socket;
        }),
      );
      const batch = await ask(
        `${POST.replace("/v1/jobs", "/v1/jobs/batch")}Connection: close\r\nContent-Length: 48\r\n\r\n${'{"jobs":[{"target":{"handler":"echo"}}]}'.padEnd(48)}`,
        "127.0.0.2",
      );
      assert.match(batch, /^HTTP\/1.1 200 /);
      for (const socket of announcing) socket.destroy();
    });
  });
});
