import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("finds jobs by a label through an index, and not by reading all of them", async () => {
  const database = await server.newDatabase();
  const runtime = systemRuntime();
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const jobs = Array.from({ length: 5_000 }, (_, i) => scene.job({ labels: { team: "t", order: String(i) } }));
  await store.submit([{ idempotency: null, jobs }]);
  const { items } = await store.queries.listJobs(TENANT, { labels: ["order=4711"] }, { after: null, limit: 10 });
  assert.deepEqual(
    items.map(({ jobId }) => jobId),
    [jobs[4_711]?.jobId],
  );
  await asked(database, "ANALYZE jobs");
  const plan = await asked(
    database,
    `EXPLAIN SELECT j.id FROM jobs j WHERE j.tenant = 'default' AND j.labels IS NOT NULL
      AND label_terms(j.labels) @> $1 ORDER BY j.id DESC LIMIT 11`,
    [["order=4711"]],
  );
  assert.match(plan.join("\n"), /Bitmap Index Scan on jobs_\d{4}_\d{2}_label_terms_idx/);
  await store.close();
});
