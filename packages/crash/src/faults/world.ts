import type { Client } from "@mainspring/sdk";
import type { Dice } from "../dice.ts";
import type { FaultEvent } from "../history/events.ts";
import type { HistoryFile } from "../history/history-file.ts";
import type { Crew } from "../stage/crew.ts";
import type { Server } from "../stage/server.ts";
import type { StoreUnderTest } from "../stage/store.ts";

/** What faults are done to. */
export interface World {
  server: Server;
  store: StoreUnderTest;
  workers: Crew;
  clients: Crew;
  client: Client;
  history: HistoryFile<FaultEvent>;
  dice: Dice;
  /** Process ids of workers that are stopped. */
  stopped: Set<number>;
  say(message: string): void;
}
