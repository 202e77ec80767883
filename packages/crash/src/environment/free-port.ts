import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Nobody may listen yet where somebody is going to. */
const given = new Set<number>();

/**
 * Each time another port below those that the system gives to outgoing connections: one of these could be taken while
 * the server is down, and a client that tries to reach it there may even get connected to itself. No seed decides on
 * it: two runs of one seed would want the same.
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
