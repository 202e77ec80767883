import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Loopback addresses in the pages, each with a free address to replace it. */
export async function freeAddresses(texts: readonly string[]): Promise<Map<string, string>> {
  const named = new Set(texts.flatMap((text) => text.match(/\b127\.0\.0\.1:\d+/g) ?? []));
  const listeners = await Promise.all([...named].map(listener));
  const free = listeners.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  // All listeners close together, so that no two addresses are the same.
  for (const server of listeners) server.close();
  return new Map([...named].map((address, index) => [address, free[index] as string]));
}

async function listener() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
