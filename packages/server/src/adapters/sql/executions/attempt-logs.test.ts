import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import type { LogPart } from "../../../ports/store-logs.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { executedPlan } from "../testing/plans.ts";
import { BY_INDEX, columnsOf, KEEP } from "./attempt-logs.ts";

const PARTS = 1_000;

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("a write of log lines finds each row by its index, however many there are, and visits one month", async () => {
  const runtime = systemRuntime();
  const database = await server.newDatabase();
  const store = await openTestStore(database, runtime);
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const jobs = Array.from({ length: 10 * PARTS }, () => scene.job());
  await store.submit([{ idempotency: null, jobs }]);
  const parts = jobs.map(({ executionId }): LogPart => {
    return { executionId, attempt: 1, part: 1, received: 1, lines: [{ at: 1, level: "info", line: "a" }] };
  });
  for (let first = 0; first < parts.length; first += PARTS) await store.logs.keep(parts.slice(first, first + PARTS));
  await asked(database, "ANALYZE");
  const db = testConnections(database, runtime);
  const plan = await db.transaction("query", async (session) => {
    await session.run({ text: BY_INDEX });
    const later = parts.slice(-PARTS).map((part) => ({ ...part, part: 2, received: 2 }));
    return await executedPlan(session, KEEP, columnsOf(later));
  });
  const visited = plan.filter(
    ({ table, loops, how }) => /^(executions|attempt_logs)_/.test(table) && loops > 0 && /Scan/.test(how),
  );
  assert.deepEqual(
    visited.filter(({ how }) => !how.startsWith("Index")),
    [],
  );
  assert.equal(new Set(visited.map(({ table }) => table.slice(-7))).size, 1);
  await db.close();
  await store.close();
});
