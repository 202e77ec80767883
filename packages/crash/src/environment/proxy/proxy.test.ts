import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { monotonicMs } from "../../clock.ts";
import { Proxy } from "./proxy.ts";

/** A server that answers in capitals, and records what it received. */
class Echo {
  readonly heard: string[] = [];
  readonly sockets: Socket[] = [];
  readonly server: Server = createServer((socket) => {
    this.sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      this.heard.push(bytes.toString());
      socket.write(bytes.toString().toUpperCase());
    });
  });

  async listen(): Promise<{ host: string; port: number }> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return { host: "127.0.0.1", port: (this.server.address() as AddressInfo).port };
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

/** Resolves when the socket has closed, in any way. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

describe("a proxy", () => {
  let echo: Echo;
  let proxy: Proxy;
  let address: string;
  const clients: Socket[] = [];

  beforeEach(async () => {
    echo = new Echo();
    proxy = new Proxy(await echo.listen());
    address = await proxy.listen();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await proxy.close();
    echo.close();
  });

  async function open(): Promise<Socket> {
    const [host, port] = address.split(":") as [string, string];
    const client = connect({ host, port: Number(port) });
    clients.push(client);
    client.on("error", () => undefined);
    await once(client, "connect");
    return client;
  }

  async function ask(client: Socket, text: string): Promise<string> {
    client.write(text);
    const [bytes] = await once(client, "data");
    return bytes.toString();
  }

  it("carries what is said both ways, and the end of it", async () => {
    const client = await open();
    assert.equal(await ask(client, "hello"), "HELLO");
    client.end();
    await closed(client);
    assert.equal(proxy.hits, 0);
  });

  it("ends the connection where nobody listens", async () => {
    echo.close();
    const client = await open();
    await closed(client);
    assert.equal(client.bytesRead, 0);
  });

  it("delays, and keeps the order when it is clear again", async () => {
    const client = await open();
    proxy.linkFault = { kind: "DELAYED", delayMs: 60 };
    const begunMs = monotonicMs();
    assert.equal(await ask(client, "late"), "LATE");
    assert.ok(monotonicMs() - begunMs >= 120, "both ways were delayed");
    client.write("first ");
    await new Promise((resolve) => setImmediate(resolve));
    proxy.linkFault = { kind: "CLEAR" };
    client.write("second");
    const heard: string[] = [];
    while (heard.join("").length < "first second".length) {
      const [bytes] = await once(client, "data");
      heard.push(bytes.toString());
    }
    assert.equal(heard.join(""), "FIRST SECOND");
  });

  it("drops in one direction: the answer comes when it is clear", async () => {
    const client = await open();
    proxy.linkFault = { kind: "DROPPED", directions: ["TO_CLIENT"] };
    const answered = ask(client, "hello");
    while (proxy.hits === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(echo.heard, ["hello"]);
    proxy.linkFault = { kind: "CLEAR" };
    assert.equal(await answered, "HELLO");
  });

  it("drops on the way there too, and keeps a reset to itself as long", async () => {
    const client = await open();
    await ask(client, "first");
    proxy.linkFault = { kind: "DROPPED", directions: ["TO_SERVER", "TO_CLIENT"] };
    client.write("unheard");
    while (proxy.hits === 0) await new Promise((resolve) => setImmediate(resolve));
    const [socket] = echo.sockets as [Socket];
    socket.resetAndDestroy();
    const isClosed = closed(client);
    await closed(socket);
    assert.equal(client.destroyed, false);
    proxy.linkFault = { kind: "CLEAR" };
    await isClosed;
    assert.deepEqual(echo.heard, ["first"]);
  });

  it("leaves a connection half open until it is clear", async () => {
    const client = await open();
    await ask(client, "first");
    const [socket] = echo.sockets as [Socket];
    proxy.linkFault = { kind: "HALF_OPEN", survivor: "CLIENT" };
    await closed(socket);
    client.write("anybody there?");
    assert.equal(client.destroyed, false);
    const late = await open();
    proxy.linkFault = { kind: "CLEAR" };
    await Promise.all([closed(client), closed(late)]);
    assert.deepEqual(echo.heard, ["first"]);
    assert.equal(await ask(await open(), "again"), "AGAIN");
  });

  it("cuts after so many bytes", async () => {
    const client = await open();
    await ask(client, "first");
    proxy.linkFault = { kind: "CUT", afterBytes: 4 };
    client.write("abcdefgh");
    await closed(client);
    assert.equal(echo.heard.join("").slice("first".length), "abcd");
    assert.equal(proxy.hits, 1);
  });

  it("swallows a reply: what was asked arrived, and nobody is told", async () => {
    const client = await open();
    await ask(client, "first");
    proxy.linkFault = { kind: "REPLY_SWALLOWED" };
    const heard: string[] = [];
    client.on("data", (bytes) => heard.push(bytes.toString()));
    client.write("second");
    await closed(client);
    assert.deepEqual([echo.heard, heard, proxy.hits], [["first", "second"], [], 1]);
  });

  it("leads elsewhere, and ends what led there before", async () => {
    const client = await open();
    await ask(client, "first");
    const other = new Echo();
    proxy.lead(await other.listen());
    await closed(client);
    await ask(await open(), "second");
    assert.deepEqual([echo.heard, other.heard], [["first"], ["second"]]);
    other.close();
  });
});
