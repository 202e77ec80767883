import assert from "node:assert/strict";
import { it } from "node:test";
import { DEFAULT_ORDERING } from "../../domain/rank.ts";
import type { Bus } from "../../ports/bus.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import { tenantOf } from "../../security/tenant.ts";
import { sendHints } from "./hints.ts";
import { jobDefinition } from "./job-definition.ts";
import { newJob } from "./new-job.ts";

it("owners are told of a batch of thousands of jobs in several turns of the event loop", async () => {
  const runtime = new ManualRuntime();
  const rows: number[] = [];
  const send = (_to: unknown, message: { kind: string; rows: unknown[] }) => void rows.push(message.rows.length);
  const bus = { ownerOf: () => "node", send } as unknown as Bus;
  const definition = jobDefinition({ target: { handler: "echo" } }, 0);
  const jobs = Array.from({ length: 2_500 }, () =>
    newJob(tenantOf(null), definition, null, DEFAULT_ORDERING, 0, runtime.uuid()),
  );
  let isTold = false;
  const told = sendHints(bus, jobs, runtime)?.then(() => (isTold = true));
  await settled();
  assert.deepEqual([rows, isTold], [[1_000], false]);
  await runtime.advance(0);
  await told;
  assert.deepEqual(rows, [1_000, 1_000, 500]);
  assert.equal(sendHints(bus, jobs.slice(0, 1_000), runtime), null);
});
