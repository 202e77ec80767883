import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { DEFAULT_POLICY } from "../../../domain/job.ts";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("keeps programs that do not know webhooks from a store whose jobs have some", async () => {
  const database = await server.newDatabase();
  const runtime = systemRuntime();
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const text = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'webhooks'";
  await scene.submitted();
  assert.deepEqual((await asked(database, text)).flat(), [1]);
  await scene.submitted({ policy: { ...DEFAULT_POLICY, onFinish: { url: "https://hooks.example/" } } });
  assert.deepEqual((await asked(database, text)).flat(), [3]);
  await store.close();
});
