import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import pg from "pg";
import { planned } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { started } from "../../../ports/conformance/runs-scene.conformance.ts";
import { ALL_SHARDS, Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { isComplete } from "./late-indexes.ts";
import { applyMigrations } from "./migrate.ts";
import { createPartition, monthOf } from "./partitions.ts";

const INDEXES = ["executions_over", "executions_flow", "executions_open_runs", "jobs_kind", "jobs_deleted"];
/** Last migration of the release before the indexes. */
const BEFORE = 10;

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("gives months that are older than an index their parts of it, while lists do without", async () => {
  const runtime = systemRuntime();
  const database = await server.newDatabase();
  const db = testConnections(database, runtime);
  await db.transaction("maintain", (session) => applyMigrations(session, "mainspring", BEFORE));
  for (const table of ["jobs", "executions"] as const) {
    for (const back of [-1, 0, 1, 2]) {
      await asked(database, `DO $$ BEGIN ${createPartition(table, monthOf(runtime.now(), back))} END $$`);
    }
  }
  const complete = () =>
    Promise.all(INDEXES.map((name) => db.session("query", (session) => isComplete(session, name))));
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const [job, other] = [await scene.submitted({ handler: "mail" }), await scene.submitted({ handler: "pdf" })];
  await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
  const found = async () => {
    const page = { after: null, limit: 10 };
    const executions = await store.queries.listExecutions(TENANT, { handler: "mail" }, page);
    const jobs = await store.queries.listJobs(TENANT, { handler: "mail" }, page);
    return [executions.items.map(({ executionId }) => executionId), jobs.items.map(({ jobId }) => jobId)];
  };
  const run = await started(scene, { handler: "etl" });
  const open = async () => (await store.runs.openRuns(ALL_SHARDS, null, 10)).map(({ id }) => id);
  const running = async () => {
    const { items } = await store.queries.listExecutions(TENANT, { state: "RUNNING" }, { after: null, limit: 10 });
    return items.map(({ executionId }) => executionId);
  };
  assert.deepEqual(await complete(), [false, false, false, false, false], "the migration holds up no writes for them");
  assert.deepEqual(await found(), [[job.executionId], [job.jobId]]);
  assert.deepEqual([await open(), await running()], [[run.executionId], [run.executionId]]);
  // An interrupted try leaves an index that PostgreSQL does not use.
  const month = `executions_${monthOf(runtime.now()).name}`;
  await asked(database, `CREATE INDEX ${month}_over ON ${month} (id)`);
  await store.maintain(runtime.now(), { days: 30, deadDays: 90 });
  assert.deepEqual(await complete(), [true, true, true, true, true]);
  assert.deepEqual([await open(), await running()], [[run.executionId], [run.executionId]]);
  assert.deepEqual(await found(), [[job.executionId], [job.jobId]]);
  await scene.applied(other.shard, { changes: [scene.succeeded(other)] });
  await store.maintain(runtime.now(), { days: 30, deadDays: 90 });
  await store.close();
  await db.close();
});

it("gives plans that an older node has made the flow of their job, without the wait for a plan that is being written", async () => {
  const runtime = systemRuntime();
  const database = await server.newDatabase();
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const firstFireAt = runtime.now() + 1_000;
  const jobs = [await planned(scene, { pool: "a", firstFireAt }), await planned(scene, { pool: "b", firstFireAt })];
  const dueFlows = () => store.recurrences.dueFlows(firstFireAt, null, 10);
  assert.equal(await dueFlows(), null, "there is no index yet");
  // An older node names no columns that it does not know, so they get their defaults.
  await asked(database, "UPDATE plans SET tenant = DEFAULT, pool = DEFAULT");
  const writer = new pg.Client(database);
  await writer.connect();
  const upkeep = () => store.maintain(runtime.now(), { days: 30, deadDays: 90 });
  await upkeep();
  await asked(database, "UPDATE plans SET tenant = DEFAULT, pool = DEFAULT");
  await writer.query("BEGIN");
  await writer.query("UPDATE plans SET revision = revision WHERE job_id = $1", [jobs[1]?.jobId]);
  await upkeep();
  assert.deepEqual(await dueFlows(), [
    { tenant: "", pool: "" },
    { tenant: TENANT, pool: "a" },
  ]);
  const [unknown = []] = await store.recurrences.readDueFlows(
    ALL_SHARDS,
    firstFireAt,
    [{ flow: { tenant: "", pool: "" }, after: null }],
    10,
  );
  assert.deepEqual(
    unknown.map(({ jobId, definition }) => [jobId, definition.pool]),
    [[jobs[1]?.jobId, "b"]],
  );
  await writer.query("COMMIT");
  await writer.end();
  await upkeep();
  assert.deepEqual(await dueFlows(), [
    { tenant: TENANT, pool: "a" },
    { tenant: TENANT, pool: "b" },
  ]);
  await store.close();
});
