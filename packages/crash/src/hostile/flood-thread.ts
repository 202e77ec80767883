import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { parentPort } from "node:worker_threads";
import type { Flood, FloodState } from "./flood.ts";

/** Opens connections that send something and then neither read nor close. */
const sockets: Socket[] = [];
let closed = 0;

parentPort?.on("message", async (order: Flood | "look" | "end") => {
  if (order === "end") for (const socket of sockets) socket.destroy();
  else if (order !== "look") await open(order);
  const state: FloodState = { open: sockets.filter((socket) => !socket.destroyed).length, closed };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(state);
});

async function open({ port, from, count, text, reads }: Flood): Promise<void> {
  const fresh = Array.from({ length: count }, () => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from, allowHalfOpen: true });
    // The server may cut the connection off.
    socket.on("error", () => undefined).on("close", () => closed++);
    if (reads) socket.resume();
    socket.write(text);
    return socket;
  });
  sockets.push(...fresh);
  await Promise.all(
    fresh.map((socket) =>
      socket.connecting ? Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => undefined) : null,
    ),
  );
}
