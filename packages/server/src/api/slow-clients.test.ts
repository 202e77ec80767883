import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { startTestApi, type TestApi } from "./api.fixture.ts";
import type { HttpApp } from "./http-app.ts";

const LIMITS = { connections: 2, headersTimeoutMs: 60, requestTimeoutMs: 120, checkIntervalMs: 20 };

describe("clients that take their time", () => {
  let api: TestApi;
  let app: HttpApp;
  before(async () => {
    api = await startTestApi();
    app = await api.another({ apiKey: null, httpLimits: LIMITS });
    await app.listen({ host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await app.close();
    await api.stop();
  });

  const open = async (): Promise<Socket> => {
    const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  /** All that comes until the server ends the connection, which it has to do by itself. */
  const heardBy = async (socket: Socket): Promise<string> => {
    let heard = "";
    socket.on("data", (data) => (heard += data));
    await once(socket, "close");
    return heard;
  };

  it("are told that it took too long where their headers do not end", async () => {
    const socket = await open();
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    assert.match(await heardBy(socket), /^HTTP\/1.1 408 [^]*"\/problems\/request-timeout"/);
  });

  it("are told so where their body does not end", async () => {
    const socket = await open();
    const head =
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n";
    socket.write(`${head}{"target":`);
    assert.match(await heardBy(socket), /^HTTP\/1.1 408 [^]*"\/problems\/request-timeout"/);
  });

  it("cannot have more connections than there are for all", async () => {
    const held = [await open(), await open()];
    const oneTooMany = await open();
    oneTooMany.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.equal(await heardBy(oneTooMany), "");
    for (const socket of held) socket.destroy();
  });
});
