import { startPostgres } from "../../../../../tools/services/start-postgres.ts";
import { testConformance } from "./testing/conformance.ts";
import { type TestServer, testServer } from "./testing/databases.ts";
import { testHotPlans } from "./testing/hot-plans.ts";

for (const version of [14, 15, 16, 17, "system"] as const) {
  const name = version === "system" ? "the system's PostgreSQL" : `PostgreSQL ${version}`;
  const start = async (): Promise<TestServer> => {
    const { connection, stop } = await startPostgres({ version });
    return testServer(connection, stop);
  };
  testConformance(name, start);
  testHotPlans(name, start);
}
