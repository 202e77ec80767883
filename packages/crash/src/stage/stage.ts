import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@mainspring/sdk";
import { wallClockZeroMs } from "../clock.ts";
import type { Dice } from "../dice.ts";
import type { People, World } from "../faults/world.ts";
import type { FaultEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { Crew } from "./crew.ts";
import { embeddedStore } from "./embedded-store.ts";
import { freePort } from "./free-port.ts";
import { ownStore } from "./own-store.ts";
import { Server } from "./server.ts";

export const STORE_KINDS = ["embedded", "postgres"] as const;
/** The PostgreSQL that comes with Mainspring, or one of one's own. */
export type StoreKind = (typeof STORE_KINDS)[number];

/** What a run is played on. */
export interface Playground extends People {
  servers: readonly Server[];
  faultFile: string;
  /** See `Evidence`. */
  wallClockZeroMs: number;
  /** Ends every process that is left. */
  close(): Promise<void>;
}

export interface Stage extends World, Playground {}

interface StageOptions {
  kind: StoreKind;
  folder: string;
  dice: Dice;
  say(message: string): void;
}

const SLOTS = "40";

/** A store and a server that is ready, and nobody there yet to use them. */
export async function openStage({ kind, folder, dice, say }: StageOptions): Promise<Stage> {
  const store = kind === "embedded" ? embeddedStore(folder) : await ownStore();
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const server = new Server({ folder, httpPort, grpcPort, env: store.serverEnv });
  const faultFile = join(folder, "faults.jsonl");
  const workers = crew("worker", folder, (historyFile, hired) => {
    // Some of them fetch work that waits with them: it must come back from the dead as well.
    return [server.grpcAddress, historyFile, SLOTS, hired % 2 === 0 ? "0" : "20"];
  });
  const clients = crew("client", folder, (historyFile) => [server.httpUrl, historyFile, String(dice.between(1, 1e6))]);
  const stage: Stage = {
    server,
    servers: [server],
    store,
    workers,
    clients,
    client: new Client({ url: server.httpUrl, retries: 1, timeoutMs: 10_000 }),
    history: new HistoryFile<FaultEvent>(faultFile),
    faultFile,
    dice,
    stopped: new Set(),
    say,
    wallClockZeroMs: wallClockZeroMs(),
    async close() {
      for (const members of [clients, workers]) {
        for (const member of members.members) await members.kill(member);
      }
      await server.kill();
      await store.stop();
    },
  };
  server.start();
  await server.ready().catch(async (cause: unknown) => {
    await stage.close();
    throw cause;
  });
  return stage;
}

/** Workers or clients. */
export function crew(
  role: string,
  folder: string,
  argumentsFor: (historyFile: string, hired: number) => string[],
): Crew {
  const program = fileURLToPath(new URL(`../load/${role}-process.ts`, import.meta.url));
  return new Crew({ role, program, folder, argumentsFor });
}
