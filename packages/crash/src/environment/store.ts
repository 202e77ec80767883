import { join } from "node:path";
import { startPostgres } from "../../../../tools/services/start-postgres.ts";
import { killPostmaster } from "./kill-postmaster.ts";

/** The PostgreSQL under test, which can be killed. The program that started it also restarts it. */
export interface StoreUnderTest {
  /** Settings for the start of the server. */
  serverEnv: Record<string, string>;
  /** URL for applications that share the PostgreSQL; null: they cannot, because it is the server's own. */
  url: string | null;
  /**
   * Kills the postmaster, even one that is starting. @param tell called with the process id before the signal is sent
   */
  kill(tell: (pid: number) => void): Promise<void>;
  /** Stops PostgreSQL; call it after the server has stopped. */
  stop(): Promise<void>;
}

/** The PostgreSQL that comes with the server, in its data folder; the server starts and restarts it. */
export function embeddedStore(folder: string): StoreUnderTest {
  return {
    serverEnv: {},
    url: null,
    kill: (tell) => killPostmaster(join(folder, "data", "postgres", "postmaster.pid"), tell),
    stop: async () => {},
  };
}

/** A separate PostgreSQL, which this process restarts; the server knows only its address. */
export async function ownStore(): Promise<StoreUnderTest> {
  const postgres = await startPostgres({ version: 17 });
  const { host, port } = postgres.connection;
  return {
    serverEnv: { MAINSPRING_STORE: postgres.url },
    url: postgres.url,
    kill: (tell) => killPostmaster(join(host, `.s.PGSQL.${port}.lock`), tell),
    stop: () => postgres.stop(),
  };
}
