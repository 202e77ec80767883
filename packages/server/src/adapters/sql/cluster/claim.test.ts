import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import pg from "pg";
import { takeShards } from "../../../ports/conformance/store-scene.conformance.ts";
import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { lockKey } from "../schema/locks.ts";
import { asked, hurriedRuntime, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";
import { CLAIM_LOCK } from "./claim.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("refuses a second server on the same database, names the first, and touches nothing", async () => {
  const database = await server.newDatabase();
  const runtime = systemRuntime();
  const first = await openTestStore(database, runtime, "the-first");
  await assert.rejects(openTestStore(database, hurriedRuntime()), (error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, /Another Mainspring server \(mainspring\/the-first\/claim\) uses this database/);
    return true;
  });
  assert.notEqual((await takeShards(first, [0], "the-first"))[0], null);
  await first.close();
  const second = await openTestStore(database, hurriedRuntime());
  await second.close();
});

it("lets the nodes of a cluster share a database, and keeps them and a server that is alone apart", async () => {
  const database = await server.newDatabase();
  const open = (name: string, isShared: boolean) => openTestStore(database, hurriedRuntime(), name, { isShared });
  const nodes = await Promise.all(["node-1", "node-2", "node-3"].map((name) => open(name, true)));
  await assert.rejects(
    open("solo", false),
    /A cluster of Mainspring servers \(mainspring\/node-\d\/claim\).* MAINSPRING_BUS=mesh to join/,
  );
  await Promise.all(nodes.map((node) => node.close()));
  const solo = await open("solo", false);
  await assert.rejects(open("node-4", true), /server that is alone \(mainspring\/solo\/claim\) uses this database/);
  await solo.close();
});

it("waits for the claim of a server that was just killed", async () => {
  const database = await server.newDatabase();
  const runtime = systemRuntime();
  const first = await openTestStore(database, runtime);
  let tries = 0;
  // The first server ends while the second server already waits for the claim.
  const patient = {
    ...runtime,
    setTimer: (delayMs: number, run: () => void) => {
      // A long delay is the time limit of an answer, which the test keeps.
      if (delayMs > 1_000) return runtime.setTimer(delayMs, run);
      if (++tries === 3) void first.close().then(run);
      else setImmediate(run);
      return { cancel: () => undefined };
    },
  };
  const second = await openTestStore(database, patient);
  assert.equal(tries, 3);
  await second.close();
});

it("takes its claim again when the connection that held it broke", async () => {
  const database = await server.newDatabase();
  const runtime = hurriedRuntime();
  const store = await openTestStore(database, runtime, "keeper");
  await terminate(database, "mainspring/keeper/claim");
  // The store takes the claim again before it takes shards, so that the refusal below does not depend on timing.
  await takeShards(store, [0], "keeper");
  await assert.rejects(openTestStore(database, hurriedRuntime()), StoreUnusable);
  await store.close();
});

it("takes over no shard while another server has the claim", async () => {
  const database = await server.newDatabase();
  const first = await openTestStore(database, hurriedRuntime(), "first");
  const other = new pg.Client({ ...database, options: "-c search_path=mainspring" });
  await other.connect();
  // PostgreSQL grants a lock in the order of the requests.
  const locked = other.query(`SELECT pg_advisory_lock(${lockKey(CLAIM_LOCK)})`);
  await terminate(database, "mainspring/first/claim");
  await locked;
  await assert.rejects(takeShards(first, [0], "first"), StoreUnusable);
  await other.end();
  assert.notEqual((await takeShards(first, [0], "first"))[0], null);
  await first.close();
});

it("says what to do about a login that is refused or a database that is not there", async () => {
  const database = await server.newDatabase();
  await assert.rejects(openTestStore({ ...database, database: "not_there" }), (error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, /"not_there" does not exist; create the database/);
    return true;
  });
  await assert.rejects(openTestStore({ ...database, user: "nobody_here" }), (error) => {
    assert.ok(error instanceof StoreUnusable);
    assert.match(error.message, /check the user/);
    return true;
  });
});

it("reports a server that does not answer as an outage", async () => {
  const database = await server.newDatabase();
  await assert.rejects(openTestStore({ ...database, host: "/not/there" }), StoreUnavailable);
});

async function terminate(database: pg.ClientConfig, applicationName: string): Promise<void> {
  const ended = await asked(
    database,
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1",
    [applicationName],
  );
  assert.deepEqual(ended, [[true]]);
}
