import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { about, startTestApi } from "./api/api.fixture.ts";
import { MemoryLog } from "./api/requests/memory-log.fixture.ts";
import { SHARD_COUNT } from "./domain/ids.ts";
import { TENANT_DEFAULTS } from "./domain/tenant.ts";
import { recordTaker } from "./ingest.ts";
import { loadConfig } from "./ops/config.ts";
import { createMetrics } from "./ops/metrics.ts";
import { TenantRing } from "./security/tenant-ring.ts";

it("records of a topic that belongs to a tenant are its own, wait for its quotas, and are in the audit log", async (t) => {
  const runtime = systemRuntime();
  const log = new MemoryLog(runtime);
  const api = await startTestApi();
  const { tenants, quotas, ingest, audit, queries } = api.store;
  await tenants.create({ ...TENANT_DEFAULTS, name: "acme", maxWaiting: 2, createdAt: runtime.now() });
  await tenants.bind({ kind: "TOPIC", name: "job-requests" }, "acme");
  const ring = new TenantRing(tenants);
  await ring.read(true);
  let refusals = 0;
  const takePlaces: typeof quotas.takePlaces = async (ask) => {
    const answer = await quotas.takePlaces(ask);
    if (answer.taken < ask.needed) refusals++;
    return answer;
  };
  const owned = new Map(Array.from({ length: SHARD_COUNT }, (_, shard) => [shard, 1]));
  const silent = pino({ level: "silent" });
  const config = loadConfig({ MAINSPRING_AUDIT_SUBMITS: "batch" });
  const taker = recordTaker(
    { requestLog: log, topic: "job-requests" },
    {
      ...{
        store: { ...api.store, quotas: { ...quotas, takePlaces } },
        tenants: ring,
        bus: api.bus,
        runtime,
        log: silent,
      },
      ...{ zones: about.zones, owned: () => owned, clock: { look: async () => undefined }, config },
      ...{ metrics: createMetrics(), lacking: () => null },
    },
  );
  taker.start();
  t.after(async () => {
    await taker.stop();
    await api.stop();
  });
  const value = Buffer.from(JSON.stringify({ target: { handler: "note" } }));
  const ids = Array.from({ length: 4 }, () => log.append({ value, partition: 1 }));
  const endOf = async (id: string | undefined) => {
    const [partition = 0, offset = 0] = (id ?? "").split("-").map(Number);
    return (await ingest.get({ partition, offset }))?.end ?? null;
  };
  await until(async () => await endOf(ids[1]));
  const refusedBefore = refusals;
  await until(async () => (refusals > refusedBefore ? true : null));
  assert.deepEqual([await endOf(ids[2]), await endOf(ids[3])], [null, null]);
  await tenants.change("acme", { maxWaiting: null }, null, runtime.now());
  await ring.read(true);
  const ends = await Promise.all(ids.map((id) => until(() => endOf(id))));
  const taken = new Set(ends.map((end) => (end.state === "TAKEN_IN" ? end.jobId : "")));
  const jobsOf = async (tenant: string) =>
    (await queries.listJobs(tenant, {}, { limit: 1_000, after: null })).items.filter(({ jobId }) => taken.has(jobId));
  assert.deepEqual([taken.size, (await jobsOf("acme")).length, (await jobsOf("default")).length], [4, 4, 0]);
  const filter = { tenant: "acme", action: "takeInRequests" };
  const records = await audit.list(filter, null, 100);
  assert.equal(
    records.reduce((sum, { detail }) => sum + Number(detail["count"]), 0),
    4,
  );
  assert.ok(records.every(({ detail, actor }) => detail["source"] === "KAFKA" && actor.kind === "SYSTEM"));
});
