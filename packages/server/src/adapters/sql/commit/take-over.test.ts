import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import pg from "pg";
import { applied, fenced, Scene, TENANT, takeShards } from "../../../ports/conformance/store-scene.conformance.ts";
import { type NewJob, StoreUnavailable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { until } from "../../system/until.fixture.ts";
import type { SqlStore } from "../sql-store.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

const ME = "this-server";

describe("taking shards over on PostgreSQL", () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let store: SqlStore;
  let scene: Scene;
  before(async () => {
    server = await startTestServer();
  });
  beforeEach(async () => {
    database = await server.newStoreDatabase();
    const runtime = systemRuntime();
    store = await openTestStore(database, runtime, ME);
    scene = await Scene.open({ store, runtime, close: () => store.close() });
  });
  after(() => server.stop());

  it("ends the commits of the owner before, which would hold its fences for ever", async () => {
    await takeShards(store, [1, 2], "dead-server");
    const stopped = await holdingFences("mainspring/dead-server/commit", [1, 2]);
    await takeShards(store, [1, 2], ME);
    assert.match((await stopped.ended).message, /terminat/);
    await store.close();
  });

  it("ends what its own commits of before have left behind", async () => {
    await takeShards(store, [1], ME);
    const inDoubt = await holdingFences(`mainspring/${ME}/commit`, [1]);
    await takeShards(store, [1], ME);
    assert.match((await inDoubt.ended).message, /terminat/);
    await store.close();
  });

  it("ends nothing else", async () => {
    await takeShards(store, [1], "former-server");
    const bystanders = await Promise.all(
      ["former-server/submit", "former-server/query", "another-server/commit", `${ME}/claim`].map(async (name) => {
        const client = new pg.Client({ ...database, application_name: `mainspring/${name}` });
        await client.connect();
        return client;
      }),
    );
    await takeShards(store, [1], ME);
    for (const client of bystanders) {
      assert.equal((await client.query("SELECT 1 AS one")).rows[0].one, 1);
      await client.end();
    }
    await store.close();
  });

  it("gives no epoch a second time where the database has gone back to before a takeover", async () => {
    await takeShards(store, [1], ME);
    const [backup] = await asked(database, "SELECT epoch, owner FROM shards WHERE id = 1");
    const [lost = 0] = await takeShards(store, [1], "another-server");
    await asked(database, "UPDATE shards SET epoch = $1, owner = $2 WHERE id = 1", backup);
    const [epoch = 0] = await takeShards(store, [1], "third-server");
    assert.ok(epoch > lost, `${epoch} after ${lost}`);
    await store.close();
  });

  it("ends with its connection: nothing is committed over another one until the shards are taken over again", async () => {
    const job = await scene.submitted({ shard: 1 });
    const tick = scene.tick(1, { changes: [scene.succeeded(job)] });
    const told = new Promise<void>((resolve) => store.watchTakeovers(resolve));
    await asked(database, `SELECT pg_terminate_backend(pid, 5000) FROM (${BLOCKED}) b`);
    await told;
    await assert.rejects(store.commit([tick]), StoreUnavailable);
    assert.deepEqual((await store.load([job.executionId])).length, 1, "nothing was written");
    await scene.takeOver([1]);
    assert.deepEqual(await store.commit([{ ...tick, epoch: scene.epochOf(1) }]), [applied(1)]);
    await store.close();
  });

  it("does not end where a statement was refused for a conflict", async () => {
    const job = await scene.submitted({ shard: 1 });
    const { commit, blocker } = await blockedCommit(job, () =>
      store.commit([scene.tick(1, { changes: [scene.succeeded(job)] })]),
    );
    // The blocker now waits for the fence that the commit holds. PostgreSQL aborts the transaction with the shorter
    // deadlock timeout, the commit.
    await blocker.query("SET deadlock_timeout = '1h'");
    await blocker.query("SELECT id FROM shards WHERE id = 1 FOR UPDATE");
    await blocker.end();
    assert.deepEqual(await commit, [applied(1)]);
    await store.close();
  });

  it("leaves a commit whose answer was lost either done or not, and shuts out its repetition", async () => {
    const [stuck, other] = [await scene.submitted({ shard: 1 }), await scene.submitted({ shard: 1 })];
    const tick = scene.tick(1, { changes: [scene.succeeded(stuck), scene.succeeded(other)] });
    const { commit, blocker } = await blockedCommit(stuck, () => store.commit([tick]));
    await endCommits("pg_terminate_backend");
    await assert.rejects(commit, StoreUnavailable);
    await blocker.end();
    await scene.takeOver([1]);
    assert.equal((await store.commit([tick]))[0]?.status, "FENCED");
    const states = await Promise.all(
      [stuck, other].map(async (job) => (await store.queries.getExecution(TENANT, job.executionId))?.state),
    );
    assert.deepEqual(states, ["PENDING", "PENDING"]);
    assert.deepEqual(await store.commit([{ ...tick, epoch: scene.epochOf(1) }]), [applied(1)]);
    await store.close();
  });

  it("writes nothing of a commit that had to wait for a takeover", async () => {
    const [lost, kept] = [await scene.submitted({ shard: 1 }), await scene.submitted({ shard: 2 })];
    const successor = new pg.Client(database);
    await successor.connect();
    await successor.query("BEGIN");
    await successor.query("UPDATE shards SET epoch = epoch + 1 WHERE id = 1");
    const commit = store.commit([
      scene.tick(1, { changes: [scene.succeeded(lost)], assigned: [scene.entry(lost)] }),
      scene.tick(2, { changes: [scene.succeeded(kept)], assigned: [scene.entry(kept)] }),
    ]);
    await until(async () => (await asked(database, `${BLOCKED} AND wait_event_type = 'Lock'`)).length > 0);
    await successor.query("COMMIT");
    await successor.end();
    assert.deepEqual(await commit, [fenced(1), applied(2)]);
    assert.deepEqual(
      (await store.load([lost.executionId, kept.executionId])).map((row) => row.id),
      [lost.executionId],
    );
    assert.deepEqual((await store.recover([1])).journals, []);
    await store.close();
  });

  it("takes a statement that ran into its time limit for one without an answer", async () => {
    const job = await scene.submitted({ shard: 1 });
    const tick = scene.tick(1, { changes: [scene.succeeded(job)] });
    const { commit, blocker } = await blockedCommit(job, () => store.commit([tick]));
    // Cancels the statement, as the statement timeout does, without waiting for the timeout.
    await endCommits("pg_cancel_backend");
    await assert.rejects(commit, StoreUnavailable);
    await blocker.end();
    await store.close();
  });

  /** A backend in the middle of a commit, whose client has stopped sending. */
  async function holdingFences(applicationName: string, shards: number[]) {
    const client = new pg.Client({ ...database, application_name: applicationName });
    // A terminated connection reports several errors, of which the first has the reason.
    const ended = new Promise<Error>((resolve) => client.on("error", resolve));
    await client.connect();
    await client.query("BEGIN");
    await client.query("SELECT id FROM shards WHERE id = ANY($1) FOR SHARE", [shards]);
    return { ended };
  }

  /** Starts a commit that waits for a row that another session has locked; returns when the commit waits. */
  async function blockedCommit(job: NewJob, begin: () => Promise<unknown>) {
    const blocker = new pg.Client(database);
    await blocker.connect();
    await blocker.query("BEGIN");
    await blocker.query("SELECT id FROM executions WHERE id = $1 FOR UPDATE", [job.executionId]);
    const commit = begin();
    commit.catch(() => undefined);
    await until(async () => (await asked(database, `${BLOCKED} AND wait_event_type = 'Lock'`)).length > 0);
    return { commit, blocker };
  }

  async function endCommits(how: "pg_terminate_backend" | "pg_cancel_backend"): Promise<void> {
    const ended = await asked(database, `SELECT ${how}(pid) FROM (${BLOCKED}) b`);
    assert.deepEqual(ended, [[true]]);
  }
});

const BLOCKED = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'mainspring/${ME}/commit'`;
