import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../clock.ts";
import { commandOf } from "./command-of.ts";
import type { StoreUnderTest } from "./store.ts";

const SEEN_WITHIN_MS = 60_000;

/** The PostgreSQL that comes with the server, in its data folder: the server starts it, and starts it again. */
export function embeddedStore(folder: string): StoreUnderTest {
  const pidFile = join(folder, "data", "postgres", "postmaster.pid");
  return {
    serverEnv: {},
    async kill(tell) {
      const pid = await until("PostgreSQL runs", SEEN_WITHIN_MS, () => livingPostmaster(pidFile), 5);
      tell(pid);
      process.kill(pid, "SIGKILL");
    },
    revive: async () => {},
    stop: async () => {},
  };
}

/** The file outlives a postmaster that was killed, and its process id may be somebody else's by then. */
async function livingPostmaster(pidFile: string): Promise<number | null> {
  const pid = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
  return Number.isInteger(pid) && (await commandOf(pid)).includes("postgres") ? pid : null;
}
