import { Client } from "@mainspring/sdk";
import type { World } from "../faults/world.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { freePort } from "./free-port.ts";
import { Server } from "./server.ts";
import { embeddedStore, ownStore } from "./store.ts";
import { opened, processGroup, SLOTS, type Testbed, testbed } from "./testbed.ts";

export const STORE_KINDS = ["embedded", "postgres"] as const;
/** Kind of store: the PostgreSQL that comes with Mainspring, or a separate one. */
export type StoreKind = (typeof STORE_KINDS)[number];

export interface Environment extends World, Testbed {}

interface EnvironmentOptions {
  kind: StoreKind;
  folder: string;
  random: SeededRandom;
  say(message: string): void;
}

/** Starts a store and a server, without workers and clients. */
export async function openEnvironment({ kind, folder, random, say }: EnvironmentOptions): Promise<Environment> {
  const store = kind === "embedded" ? embeddedStore(folder) : await ownStore();
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const server = new Server({ folder, httpPort, grpcPort, env: store.serverEnv });
  const workers = processGroup("worker", folder, (historyFile, hired) => {
    // Some workers prefetch work, which must also survive their death.
    return [server.grpcAddress, historyFile, SLOTS, hired % 2 === 0 ? "0" : "20"];
  });
  const submitterArguments = (historyFile: string) => [server.httpUrl, historyFile, String(random.between(1, 1e6))];
  const shared = store.url === null ? [] : [store.url];
  const clientArguments = (historyFile: string) => [...submitterArguments(historyFile), ...shared];
  const users = testbed({
    folder,
    servers: [server],
    hasApplications: store.url !== null,
    ingest: null,
    endsInReplica: null,
    workers,
    clients: processGroup("client", folder, clientArguments),
    applications: processGroup("application", folder, clientArguments),
    signallers: processGroup("signaller", folder, submitterArguments),
    client: new Client({ url: server.httpUrl, retries: 1, timeoutMs: 10_000 }),
    random,
    say,
    closeRest: () => store.stop(),
  });
  return opened({ ...users, server, store });
}
