import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { leasesConformance } from "../../ports/leases.conformance.ts";
import { LeasesUnavailable } from "../../ports/leases.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "./testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

leasesConformance("PostgreSQL", async () => {
  const database = await server.newDatabase();
  const store = await openTestStore(database);
  // Leases are judged by their age: instead of waiting, the test makes all written times older.
  const age =
    "UPDATE nodes SET renewed_at = renewed_at - $1::int8 * interval '1 millisecond', expires_at = expires_at - $1::int8 * interval '1 millisecond'";
  return {
    leases: () => store.leases,
    pass: async (ms) => void (await asked(database, age, [ms])),
    close: () => store.close(),
  };
});

it("forgets who has been gone for long, and says so when PostgreSQL does not answer", async () => {
  const database = await server.newDatabase();
  const store = await openTestStore(database, systemRuntime(), "me");
  const node = { name: "n", address: "n:1", roles: [], version: "1", level: 1, startedAt: 1 };
  await store.leases.renew({ ...node, incarnation: "long-gone" }, 1_000);
  await asked(database, "UPDATE nodes SET expires_at = expires_at - interval '1 hour'");
  await store.leases.renew({ ...node, incarnation: "me" }, 1_000);
  assert.deepEqual(await asked(database, "SELECT incarnation FROM nodes"), [["me"]]);
  await asked(database, "DROP TABLE nodes");
  await assert.rejects(store.leases.renew({ ...node, incarnation: "me" }, 1_000), LeasesUnavailable);
  await store.close();
});
