import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { it } from "node:test";
import { Pair } from "./pair.ts";

const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

async function listening(): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

it("a pair that is reset during the shutdown of a socket leaves no socket open: a process with one could not end", async (t) => {
  const [near, far] = [await listening(), await listening()];
  t.after(() => [near, far].map(({ server }) => server.close()));
  const [opened, reached] = [once(near.server, "connection"), once(far.server, "connection")];
  const client = connect(near.port, "127.0.0.1").on("error", () => undefined);
  const [socket] = (await opened) as [Socket];
  const over = Promise.withResolvers<void>();
  const target = { host: "127.0.0.1", port: far.port };
  const pair = new Pair(socket, target, { linkFault: { kind: "CLEAR" }, hit: () => undefined }, over.resolve);
  const [server] = (await reached) as [Socket];
  server.on("error", () => undefined);

  // The client closes as if the other end had said goodbye.
  socket.end();
  for (let tick = 0; tick < 2; tick++) await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual([socket.writableEnded, socket.writableFinished], [true, false]);
  pair.reset();
  await over.promise;
  const ends = [client, server].map((end) => once(end, "close"));
  for (const end of [client, server]) end.destroy();
  await Promise.all(ends);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sockets(), 0);
});
