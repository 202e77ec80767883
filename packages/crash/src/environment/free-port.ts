import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Ports that were returned before, because their future users may not listen yet. */
const given = new Set<number>();

/**
 * Returns a new port each time, below the range that the system gives to outgoing connections: a port of that range
 * could be taken while the server is down, and a client that tries to reach the server there may even get connected to
 * itself. The choice does not depend on the seed, because two runs of one seed would choose the same ports.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
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
