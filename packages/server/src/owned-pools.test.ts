import assert from "node:assert/strict";
import { it } from "node:test";
import { asked, openTestStore, startTestServer, storeUrl } from "./adapters/sql/testing/databases.ts";
import { ownedPool } from "./domain/pool.ts";
import { startLocalNode } from "./node.fixture.ts";

const LEVEL = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'owned pools'";

it("the first owned pool keeps programs of the release before from opening the store, and a shared one does not", async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const database = await server.newDatabase();
  const store = await openTestStore(database);
  const levelOf = async () => (await asked(database, LEVEL))[0]?.[0] as number;
  const before = await levelOf();
  const older = { version: "0.0.9", level: 2 };
  await store.putPool({ name: "shared", paused: true });
  assert.equal(await levelOf(), before);
  await store.putPool({ name: ownedPool("acme", "gpu"), paused: true });
  assert.deepEqual([before < 3, await levelOf()], [true, 3]);
  await store.close();
  await assert.rejects(startLocalNode({ MAINSPRING_STORE: storeUrl(database) }, older), /level 3/);
});
