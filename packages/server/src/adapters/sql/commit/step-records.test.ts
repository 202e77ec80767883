import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("keeps programs that do not know records of handlers from a store that has some", async () => {
  const database = await server.newDatabase();
  const runtime = systemRuntime();
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const needed = async () =>
    (
      await asked(database, "SELECT max(needs_level)::int4 FROM mainspring.schema_migrations WHERE name = 'steps'")
    ).flat();
  const job = await scene.submitted();
  await scene.applied(job.shard, { changes: [scene.running(job)] });
  assert.deepEqual(await needed(), [1]);
  const record = { kind: "RESULT" as const, name: "a", attempt: 1, number: 1, at: 1, data: null };
  await scene.applied(job.shard, { steps: [{ executionId: job.executionId, ...record }] });
  assert.deepEqual(await needed(), [3]);
  await store.close();
});

it("keeps programs that do not know signals from a store that has some", async () => {
  const database = await server.newDatabase();
  const runtime = systemRuntime();
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const { executionId, shard } = await scene.submitted();
  const command = { id: runtime.uuid(), shard, kind: "SIGNAL" as const, executionId };
  await store.steps.addSignal(executionId, { id: "a", name: "approved", data: null, at: 1 }, command);
  const needed = "SELECT max(needs_level)::int4 FROM mainspring.schema_migrations WHERE name = 'steps'";
  assert.deepEqual((await asked(database, needed)).flat(), [3]);
  await store.close();
});
