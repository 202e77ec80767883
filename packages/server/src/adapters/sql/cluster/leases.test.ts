import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { leasesConformance } from "../../../ports/conformance/leases.conformance.ts";
import { LeasesUnavailable } from "../../../ports/leases.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

leasesConformance("PostgreSQL", async () => {
  const database = await server.newDatabase();
  const store = await openTestStore(database);
  // Leases are judged by their age, so the test makes all written times older instead of waiting.
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

it("lets the lease of a node that died run out in time, though PostgreSQL's clock was set back", async () => {
  const database = await server.newDatabase();
  const store = await openTestStore(database, systemRuntime(), "me");
  const node = { name: "n", address: "n:1", roles: [], version: "1", level: 1, startedAt: 1 };
  const pass = (interval: string) =>
    asked(database, `UPDATE nodes SET renewed_at = renewed_at - ${interval}, expires_at = expires_at - ${interval}`);
  const livingOthers = async () => {
    const nodes = await store.leases.renew({ ...node, incarnation: "me" }, 3_000);
    return nodes.map(({ incarnation }) => incarnation).filter((incarnation) => incarnation !== "me");
  };
  await store.leases.renew({ ...node, incarnation: "died" }, 3_000);
  await pass("interval '-1 hour'");
  assert.deepEqual(await livingOthers(), ["died"], "its lease counts from when the clock was seen to be set");
  await pass("interval '2.5 seconds'");
  assert.deepEqual(await livingOthers(), ["died"]);
  await pass("interval '0.6 seconds'");
  assert.deepEqual(await livingOthers(), []);
  await store.close();
});
