import assert from "node:assert/strict";
import { it } from "node:test";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { BacklogWatch } from "./backlog-watch.ts";

it("shows the backlog of each pool, and how old it has become since the last look", async () => {
  const runtime = new ManualRuntime();
  const oldestDueAt = runtime.now() - 5_000;
  const queries = { backlog: async () => [{ pool: "mail", ready: 200, oldestDueAt }] };
  const watch = new BacklogWatch(queries, runtime, { warn: () => {} } as never);
  watch.start();
  assert.deepEqual(watch.readings(), { backlogReady: new Map(), backlogOldestSec: new Map() });
  await runtime.advance(31_000);
  assert.deepEqual(watch.readings(), {
    backlogReady: new Map([["mail", 200]]),
    backlogOldestSec: new Map([["mail", 36]]),
  });
  watch.stop();
});
