import { join } from "node:path";
import { killPostmaster } from "./kill-postmaster.ts";
import type { StoreUnderTest } from "./store.ts";

/** The PostgreSQL that comes with the server, in its data folder: the server starts it, and starts it again. */
export function embeddedStore(folder: string): StoreUnderTest {
  return {
    serverEnv: {},
    kill: (tell) => killPostmaster(join(folder, "data", "postgres", "postmaster.pid"), tell),
    stop: async () => {},
  };
}
