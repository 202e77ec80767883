import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../clock.ts";
import type { StoreUnderTest } from "./store.ts";

const SEEN_WITHIN_MS = 60_000;

/** The PostgreSQL that comes with the server, in its data folder: the server starts it, and starts it again. */
export function embeddedStore(folder: string): StoreUnderTest {
  const pidFile = join(folder, "data", "postgres", "postmaster.pid");
  return {
    serverEnv: {},
    async kill(tell) {
      const pid = await until("PostgreSQL runs", SEEN_WITHIN_MS, () => livingPid(pidFile), 5);
      tell(pid);
      process.kill(pid, "SIGKILL");
    },
    revive: async () => {},
    stop: async () => {},
  };
}

/** The file outlives a postmaster that was killed. */
async function livingPid(pidFile: string): Promise<number | null> {
  const pid = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
  try {
    return Number.isInteger(pid) && process.kill(pid, 0) ? pid : null;
  } catch {
    return null;
  }
}
