import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Client, task } from "@mainspring/sdk";
import type pg from "pg";
import { asked, startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";

const WRITES = `SELECT coalesce(sum(n_tup_ins), 0)::int4, coalesce(sum(n_tup_upd), 0)::int4
  FROM pg_stat_user_tables WHERE relname LIKE 'attempt_logs_%'`;

let server: TestServer;
let database: pg.ClientConfig;
before(async () => {
  server = await startTestServer();
  database = await server.newDatabase();
});
after(() => server.stop());

it("the store gets one row of an attempt that has logged lines, and none of a hundred that have not", async () => {
  const node = await startLocalNode({ MAINSPRING_STORE: storeUrl(database) });
  const client = new Client({ url: node.httpUrl });
  const jobs = Array.from({ length: 100 }, () => ({ target: { handler: "echo" } }));
  for (const item of await client.submitBatch(jobs)) {
    assert.ok("executionId" in item);
    await client.waitForExecution(item.executionId ?? "");
  }
  const talks = task({
    name: "talks",
    run: (_: null, ctx) => {
      for (let line = 0; line < 10; line++) ctx.log(`line ${line}`);
    },
  });
  node.attachWorker({ tasks: [talks] }).start();
  const { executionId } = await talks.submit(client, null);
  await client.waitForExecution(executionId);
  const stored = async () => await asked(database, "SELECT received::int4 FROM mainspring.attempt_logs");
  await until(async () => (await stored()).length > 0);
  assert.deepEqual(await stored(), [[10]]);
  await node.stop();
  // The statistics of a session are complete when it has ended.
  assert.deepEqual(await asked(database, WRITES), [[1, 0]]);
});
