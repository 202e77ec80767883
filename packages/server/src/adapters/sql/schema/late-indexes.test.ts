import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { isComplete } from "./late-indexes.ts";
import { applyMigrations } from "./migrate.ts";
import { createPartition, monthOf, PARTITIONED } from "./partitions.ts";

const INDEXES = ["executions_over", "jobs_kind", "jobs_deleted"];
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
  for (const table of PARTITIONED) {
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
  assert.deepEqual(await complete(), [false, false, false], "the migration holds up no writes for them");
  assert.deepEqual(await found(), [[job.executionId], [job.jobId]]);
  // A try that was interrupted leaves an index that is of no use.
  const month = `executions_${monthOf(runtime.now()).name}`;
  await asked(database, `CREATE INDEX ${month}_over ON ${month} (id)`);
  await store.maintain(runtime.now(), { days: 30, deadDays: 90 });
  assert.deepEqual(await complete(), [true, true, true]);
  assert.deepEqual(await found(), [[job.executionId], [job.jobId]]);
  await scene.applied(other.shard, { changes: [scene.succeeded(other)] });
  await store.maintain(runtime.now(), { days: 30, deadDays: 90 });
  await store.close();
  await db.close();
});
