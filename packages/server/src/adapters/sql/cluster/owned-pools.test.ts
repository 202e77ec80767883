import assert from "node:assert/strict";
import { it } from "node:test";
import { ownedPool } from "../../../domain/pool.ts";
import { asked, openTestStore, startTestServer } from "../testing/databases.ts";

const LEVEL = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'owned pools'";

it("the first owned pool keeps programs of the release before from opening the store, and a shared one does not", async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const database = await server.newDatabase();
  const store = await openTestStore(database);
  const levelOf = async () => (await asked(database, LEVEL))[0]?.[0] as number;
  const before = await levelOf();
  await store.putPool({ name: "shared", paused: true });
  assert.equal(await levelOf(), before);
  await store.putPool({ name: ownedPool("acme", "gpu"), paused: true });
  assert.deepEqual([before < 3, await levelOf()], [true, 3]);
  await store.close();
});
