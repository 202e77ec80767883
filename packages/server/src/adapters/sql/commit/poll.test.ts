import assert from "node:assert/strict";
import { it } from "node:test";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer } from "../testing/databases.ts";

it("a poll returns the weights of tenants that differ from the default weight", async () => {
  const server = await startTestServer();
  try {
    const database = await server.newDatabase();
    const store = await openTestStore(database, systemRuntime());
    const weights = async () => (await store.poll([0], { dueUntil: 0, firesUntil: 0 })).weights;
    assert.deepEqual(await weights(), []);
    const values = ["('zeta', 'ACTIVE', 1", "('acme', 'ACTIVE', 1000", "('plain', 'ACTIVE', 100"].map(
      (row) => `${row}, 0, 0, 1)`,
    );
    await asked(
      database,
      `INSERT INTO tenants (name, state, weight, created_at, updated_at, version) VALUES ${values.join(", ")}`,
    );
    assert.deepEqual(await weights(), [
      ["acme", 1_000],
      ["zeta", 1],
    ]);
    await store.close();
  } finally {
    await server.stop();
  }
});
