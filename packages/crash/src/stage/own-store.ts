import { join } from "node:path";
import { startPostgres } from "../../../../tools/services/start-postgres.ts";
import { killPostmaster } from "./kill-postmaster.ts";
import type { StoreUnderTest } from "./store.ts";

/** A PostgreSQL that the server only knows the address of; it is started again by this process. */
export async function ownStore(): Promise<StoreUnderTest> {
  const postgres = await startPostgres({ version: 17 });
  const { host, port } = postgres.connection;
  return {
    serverEnv: { MAINSPRING_STORE: postgres.url },
    kill: (tell) => killPostmaster(join(host, `.s.PGSQL.${port}.lock`), tell),
    stop: () => postgres.stop(),
  };
}
