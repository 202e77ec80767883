import { once } from "node:events";
import { createServer } from "node:net";
import type { Dice } from "../dice.ts";

/**
 * A port below those that the system gives to outgoing connections: one of these could be taken while the server is
 * down, and a client that tries to reach it there may even get connected to itself.
 */
export async function freePort(dice: Dice): Promise<number> {
  for (;;) {
    const port = dice.between(15_000, 30_000);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
