import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@mainspring/sdk";
import { wallClockZeroMs } from "../clock.ts";
import type { Dice } from "../dice.ts";
import type { People } from "../faults/world.ts";
import type { FaultEvent } from "../history/events.ts";
import { HistoryFile } from "../history/history-file.ts";
import { Crew } from "./crew.ts";
import type { Server } from "./server.ts";

/** Processes and folders of a run. */
export interface Playground extends People {
  servers: readonly Server[];
  faultFile: string;
  /** See `Evidence`. */
  wallClockZeroMs: number;
  /** Ends every process that is left. */
  close(): Promise<void>;
}

interface Ground {
  folder: string;
  servers: readonly Server[];
  workers: Crew;
  clients: Crew;
  client: Client;
  dice: Dice;
  say(message: string): void;
  /** Ends what the servers stood on, once they are gone. */
  closeRest(): Promise<void>;
}

/** Slots of a worker. */
export const SLOTS = "40";

/** Parts that every stage has. */
export function playground({ folder, closeRest, ...ground }: Ground): Playground {
  const { servers, clients, workers } = ground;
  const faultFile = join(folder, "faults.jsonl");
  return {
    ...ground,
    history: new HistoryFile<FaultEvent>(faultFile),
    faultFile,
    stopped: new Set(),
    wallClockZeroMs: wallClockZeroMs(),
    async close() {
      for (const members of [clients, workers]) {
        for (const member of members.members) await members.kill(member);
      }
      await Promise.all(servers.map((server) => server.kill()));
      await closeRest();
    },
  };
}

/** Starts the servers. @throws when one of them does not come up; then nothing is left running */
export async function opened<S extends Playground>(stage: S): Promise<S> {
  for (const server of stage.servers) server.start();
  await Promise.all(stage.servers.map((server) => server.ready())).catch(async (cause: unknown) => {
    await stage.close();
    throw cause;
  });
  return stage;
}

interface CrewNames {
  /** Name of their files; default: their role. */
  name?: string;
  /** Program of the processes; default: that of the role. */
  program?: string;
}

/** Workers or clients. */
export function crew(
  role: string,
  folder: string,
  argumentsFor: (historyFile: string, hired: number) => string[],
  { name = role, program = fileURLToPath(new URL(`../load/${role}-process.ts`, import.meta.url)) }: CrewNames = {},
): Crew {
  return new Crew({ role: name, program, folder, argumentsFor });
}
