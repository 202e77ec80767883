import { startPostgres } from "../../../../../tools/services/start-postgres.ts";
import { testConformance } from "./testing/conformance.ts";
import { asked, type TestServer, testServer } from "./testing/databases.ts";
import { testHotPlans } from "./testing/hot-plans.ts";

/**
 * Versions that the suite of the store runs on: the oldest supported one, or all with MAINSPRING_TEST_POSTGRES=all. The unit
 * tests run it on the embedded PostgreSQL, which is the newest one.
 */
const VERSIONS = [14, 15, 16, 17, "system"] as const;
const SHORT: readonly unknown[] = [14];
const isAll = process.env["MAINSPRING_TEST_POSTGRES"] === "all";

for (const version of VERSIONS) {
  const name = version === "system" ? "the system's PostgreSQL" : `PostgreSQL ${version}`;
  const start = async (): Promise<TestServer> => {
    const { connection, stop } = await startPostgres({ version });
    // No test of the suite ends the server, so a disk need not delay it.
    await asked(connection, "ALTER SYSTEM SET fsync = off");
    await asked(connection, "SELECT pg_reload_conf()");
    return testServer(connection, stop);
  };
  if (isAll || SHORT.includes(version)) testConformance(name, start);
  testHotPlans(name, start);
}
