import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { FEATURE_LEVEL } from "../../../domain/cluster/feature-level.ts";
import { StoreUnusable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { openSqlStore } from "../sql-store.ts";
import {
  asked,
  hurriedRuntime,
  openTestStore,
  silent,
  startTestServer,
  type TestServer,
} from "../testing/databases.ts";
import { MIGRATIONS } from "./migrations/index.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("says at once that a server has no TLS where TLS is asked for", async () => {
  const { user, host = "", port, database } = await server.newDatabase();
  const url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}?sslmode=require`;
  await assert.rejects(openTestStore(url as never), {
    name: "StoreUnusable",
    message: /has no TLS, and MAINSPRING_STORE asks for it/,
  });
});

it("warns where PostgreSQL has too few connections for the nodes that are there", async () => {
  const database = await server.newDatabase();
  const said: object[] = [];
  const log = { ...silent, warn: (fields: object) => void said.push(fields) } as typeof silent;
  const runtime = systemRuntime();
  const open = () => openSqlStore({ connection: database, incarnation: runtime.uuid(), runtime, log, isShared: true });
  const stores = [await open(), await open()];
  assert.deepEqual(said, []);
  while (said.length === 0 && stores.length < 12) stores.push(await open());
  const [told] = said as { nodes: number; connectionsOfEachNode: number; connectionsOfPostgres: number }[];
  assert.ok(told && told.nodes * told.connectionsOfEachNode > told.connectionsOfPostgres - 20, JSON.stringify(said));
  for (const store of stores) await store.close();
});

const OBJECTS = `SELECT relname::text, relkind::text, relfilenode::int8 FROM pg_class
  WHERE relnamespace IN (to_regnamespace('public'), to_regnamespace('mainspring')) ORDER BY 1`;

it("migrates an empty database once, and finds it as it left it", async () => {
  const database = await server.newDatabase();
  await (await openTestStore(database)).close();
  const before = await asked(database, OBJECTS);
  await (await openTestStore(database)).close();
  assert.deepEqual(await asked(database, OBJECTS), before);
  assert.deepEqual(
    await asked(database, "SELECT version, name FROM schema_migrations ORDER BY 1"),
    MIGRATIONS.map(({ version, name }) => [version, name]),
  );
});

it("knows a store that an earlier release made", async () => {
  const database = await server.newDatabase();
  const store = await openTestStore(database);
  assert.equal(await store.isSinceTls(), true);
  await asked(database, "UPDATE schema_migrations SET applied_at = applied_at + interval '1 day' WHERE version >= 8");
  assert.equal(await store.isSinceTls(), false);
  await store.close();
});

it("works with a newer schema that says that it can, and leaves it as it is", async () => {
  const database = await server.newDatabase();
  await (await openTestStore(database)).close();
  const made = "INSERT INTO schema_migrations (version, name, needs_level) VALUES (99, 'of the next release', $1)";
  await asked(database, made, [FEATURE_LEVEL]);
  await asked(database, "ALTER TABLE pools ADD COLUMN of_the_next_release integer");
  const before = await asked(database, OBJECTS);
  const store = await openTestStore(database);
  assert.equal((await store.putPool({ name: "p", paused: true })).paused, true);
  await store.close();
  assert.deepEqual(await asked(database, OBJECTS), before);
});

it("leaves alone a database that needs a newer program, and says what to do", async () => {
  const database = await server.newDatabase();
  await (await openTestStore(database)).close();
  await asked(database, "INSERT INTO schema_migrations (version, name, needs_level) VALUES (99, 'of the future', 9)");
  await asked(database, "DROP TABLE pools");
  const before = await asked(database, OBJECTS);
  await assert.rejects(openTestStore(database), (error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, /schema version 99, which is newer than this program's \d+, .*: start the version/);
    return true;
  });
  assert.deepEqual(await asked(database, OBJECTS), before);
});

it("refuses a database whose encoding cannot hold what people write", async () => {
  const database = await server.newDatabase();
  await asked(database, "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  await assert.rejects(openTestStore({ ...database, database: "latin" }), (error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, /has the encoding LATIN1: make one with CREATE DATABASE/);
    return true;
  });
});

it("makes the months around the current one, in the months' own borders", async () => {
  const database = await server.newDatabase();
  await (await openTestStore(database, hurriedRuntime(Date.UTC(2031, 11, 31, 23, 59)))).close();
  const names = await asked(
    database,
    "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relname LIKE '%s\\_20%' ORDER BY 1",
  );
  const months = ["2031_11", "2031_12", "2032_01", "2032_02"];
  assert.deepEqual(names.flat(), [
    ...months.map((month) => `attempt_logs_${month}`),
    ...months.map((month) => `execution_steps_${month}`),
    ...months.map((month) => `executions_${month}`),
    ...months.map((month) => `jobs_${month}`),
    ...months.map((month) => `signals_${month}`),
  ]);
});

it("migrates nothing when it fails half way", async () => {
  const database = await server.newDatabase();
  await asked(database, "CREATE SCHEMA mainspring; CREATE TABLE mainspring.pools (not_ours integer)");
  const before = await asked(database, OBJECTS);
  await assert.rejects(openTestStore(database), StoreUnusable);
  assert.deepEqual(await asked(database, OBJECTS), before);
});
