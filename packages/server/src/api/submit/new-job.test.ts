import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { usePackagedZones } from "../../adapters/system/time-zone-data.ts";
import { firstExecutionId, type ShardId, shardOf } from "../../domain/ids.ts";
import { DEFAULT_ORDERING } from "../../domain/rank.ts";
import { tenantOf } from "../../security/tenant.ts";
import { fixedRules } from "../../time-zones.ts";
import { jobDefinition } from "./job-definition.ts";
import { jobRow } from "./new-job.ts";

const runtime = systemRuntime();
const zones = fixedRules(usePackagedZones());
const target = { handler: "echo" };

/** Rows of jobs that a node takes. @param shard the shard that the node chooses; null: it owns none */
function rowsOf(job: Parameters<typeof jobDefinition>[0], shard: ShardId | null, count = 1_000) {
  const at = runtime.now();
  const definition = jobDefinition(job, at);
  const maker = { runtime, zones, ownShards: { next: () => shard } };
  return Array.from({ length: count }, () => {
    const row = jobRow(tenantOf(null), definition, null, DEFAULT_ORDERING, at, maker);
    assert.ok(row !== null);
    return row;
  });
}

const shardsOf = (rows: readonly { shard: ShardId }[]) => new Set(rows.map(({ shard }) => shard));

describe("a new job", () => {
  it("without a concurrency key that is ready at once is in a shard of the node that takes it", () => {
    for (const job of [{ target }, { target, uniqueKey: "report" }, { target, priority: "HIGH" as const }]) {
      const rows = rowsOf(job, 17);
      assert.deepEqual([...shardsOf(rows)], [17]);
      assert.ok(rows.every(({ jobId }) => shardOf(jobId) === 17));
      assert.equal(new Set(rows.map(({ jobId }) => jobId)).size, rows.length);
    }
  });

  it("is in the shard of its random id where the node owns none, and where it waits for its time or recurs", () => {
    const later = { target, delayMs: 60_000 };
    const recurring = { target, schedule: "0 5 * * *", timezone: "UTC" };
    for (const rows of [rowsOf({ target }, null), rowsOf(later, 17), rowsOf(recurring, 17)]) {
      assert.ok(shardsOf(rows).size > 50);
      assert.ok(rows.every(({ jobId, shard }) => shardOf(jobId) === shard));
    }
  });

  it("with a concurrency key is in the shard of the key", () => {
    const rows = rowsOf({ target, concurrencyKey: "customer-7" }, 17);
    assert.deepEqual([...shardsOf(rows)], [shardOf("default\u0000customer-7")]);
  });

  it("that runs once has an execution whose id follows from its own", () => {
    for (const job of [{ target }, { target, delayMs: 60_000 }, { target, concurrencyKey: "customer-7" }]) {
      for (const { jobId, executionId } of rowsOf(job, 17, 10)) assert.equal(executionId, firstExecutionId(jobId));
    }
  });
});
