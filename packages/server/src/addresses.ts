import type { Config } from "./ops/config.ts";

/** Number of further attempts of a starting node to reach itself at its advertised address. */
const REACH_AGAIN = 2;

interface Mesh {
  /** @returns why this node cannot be reached at the address; null: it is reachable */
  reachesItself(address: string): Promise<string | null>;
}

/** Address at which other nodes reach this node. */
export function addressOf({ advertise }: Config, listensAt: string): string {
  if (advertise === null) return listensAt;
  const { host, port } = advertise;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Checks the advertised address. A node that others cannot reach would own shards without receiving any messages. */
export async function checkAdvertised(mesh: Mesh, address: string, listensAt: string): Promise<void> {
  let found = await mesh.reachesItself(address);
  // On a busy machine the check may only have been slow, and a node that fails to start in an upgrade is worse than a
  // node that starts late.
  for (let again = 0; found !== null && again < REACH_AGAIN; again++) found = await mesh.reachesItself(address);
  if (found === null) return;
  throw new AddressUnusable(
    `${address}, where other nodes are to reach this one, does not lead to it: ${found}. It listens on ${listensAt}: ` +
      "set MAINSPRING_ADVERTISE to a host:port that leads there, from this machine too",
  );
}

/** The server cannot listen on an address, or cannot be reached there. */
export class AddressUnusable extends Error {
  override readonly name = "AddressUnusable";
}

/** @throws {AddressUnusable} the message names the setting */
export async function listening<T>(key: string, { host, port }: Config["http"], listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const address = `${host}:${port}`;
    const why = code === "EADDRINUSE" ? `${address} is taken by another program` : `${address}: ${message}`;
    throw new AddressUnusable(`${why}. Set ${key} to another host:port (port 0 picks a free one)`, { cause });
  }
}
