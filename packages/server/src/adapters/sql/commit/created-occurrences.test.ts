import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { fire, planned, recurring } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { applied, Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { until } from "../../system/until.fixture.ts";
import type { SqlStore } from "../sql-store.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
  AND application_name LIKE '%/commit'`;

describe("created occurrences on PostgreSQL", () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let store: SqlStore;
  let scene: Scene;
  before(async () => {
    server = await startTestServer();
    database = await server.newDatabase();
    const runtime = systemRuntime();
    store = await openTestStore(database, runtime);
    scene = await Scene.open({ store, runtime, close: () => store.close() });
  });
  after(async () => {
    await store.close();
    await server.stop();
  });

  it("go again when they and a submit wait for each other's unique keys", async () => {
    const [ending, next] = [await scene.submitted({ shard: 1, uniqueKey: "b" }), await planned(scene, KEYED)];
    const submit = new pg.Client(database);
    await submit.connect();
    // PostgreSQL aborts the transaction that first reaches its deadlock timeout, here the commit's.
    await submit.query("SET deadlock_timeout = '1min'; BEGIN");
    await submit.query(insertKey("a"));
    const change = fire(scene, next);
    const changes = [scene.succeeded(ending, { releaseUniqueKey: true })];
    const commit = store.commit([scene.tick(1, { changes, plans: [change] })]);
    await until(async () => (await asked(database, WAITING)).length > 0);
    await submit.query(insertKey("b"));
    await submit.query("ROLLBACK");
    await submit.end();
    assert.deepEqual(await commit, [applied(1)]);
    assert.equal((await store.load(change.created.map(({ row }) => row.id))).length, 1);
  });

  it("are written by the thousand in several statements, none of which takes long", async () => {
    const jobs = Array.from({ length: 24_000 }, () => recurring(scene));
    await store.submit([{ idempotency: null, jobs }]);
    const shards = [...new Set(jobs.map(({ shard }) => shard))];
    const ticks = shards.map((shard) => {
      return scene.tick(shard, {
        plans: jobs.filter((job) => job.shard === shard).map((job) => fire(scene, job)),
      });
    });
    assert.deepEqual(await store.commit(ticks), shards.map(applied));
    const [counts] = await asked(database, "SELECT count(*) FROM plans WHERE revision = 2");
    assert.deepEqual(counts, [String(24_000 + 1)]);
  });
});

const KEYED = { shard: 1, uniqueKey: "a" };

function insertKey(key: string): string {
  return `INSERT INTO unique_keys VALUES ('default', '${key}', gen_random_uuid(), gen_random_uuid()) ON CONFLICT DO NOTHING`;
}
