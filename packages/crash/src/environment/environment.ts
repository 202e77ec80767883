import { Client } from "@mainspring/sdk";
import type { Dice } from "../dice.ts";
import type { World } from "../faults/world.ts";
import { embeddedStore } from "./embedded-store.ts";
import { freePort } from "./free-port.ts";
import { ownStore } from "./own-store.ts";
import { crew, opened, type Playground, playground, SLOTS } from "./playground.ts";
import { Server } from "./server.ts";

export const STORE_KINDS = ["embedded", "postgres"] as const;
/** The PostgreSQL that comes with Mainspring, or one of one's own. */
export type StoreKind = (typeof STORE_KINDS)[number];

export interface Stage extends World, Playground {}

interface StageOptions {
  kind: StoreKind;
  folder: string;
  dice: Dice;
  say(message: string): void;
}

/** A store and a server that is ready, and nobody there yet to use them. */
export async function openStage({ kind, folder, dice, say }: StageOptions): Promise<Stage> {
  const store = kind === "embedded" ? embeddedStore(folder) : await ownStore();
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const server = new Server({ folder, httpPort, grpcPort, env: store.serverEnv });
  const workers = crew("worker", folder, (historyFile, hired) => {
    // Some of them fetch work that waits with them: it must come back from the dead as well.
    return [server.grpcAddress, historyFile, SLOTS, hired % 2 === 0 ? "0" : "20"];
  });
  const clients = crew("client", folder, (historyFile) => [server.httpUrl, historyFile, String(dice.between(1, 1e6))]);
  const people = playground({
    folder,
    servers: [server],
    workers,
    clients,
    client: new Client({ url: server.httpUrl, retries: 1, timeoutMs: 10_000 }),
    dice,
    say,
    closeRest: () => store.stop(),
  });
  return opened({ ...people, server, store });
}
