import assert from "node:assert/strict";
import { it } from "node:test";
import type { Plan } from "../../domain/recurrence.ts";
import type { NewRecurringJob } from "../store.ts";
import { fire, firstPlan, HOURLY, NIGHTLY, occurrence, planned } from "./recurring-scene.conformance.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

/** Reads of recurring jobs of all shards and tenants, for watches of the whole store. */
export function watchedJobsConformance(scene: () => Scene): void {
  it("finds the jobs that are overdue, each by its own grace, and none that is paused", async () => {
    const now = scene().runtime.now();
    const patient = { ...NIGHTLY, misfireGraceMs: 3_600_000 };
    const strict = { ...NIGHTLY, misfireGraceMs: 5_000 };
    const jobs = [
      await planned(scene(), { name: "strict", recurrence: strict, firstFireAt: now }),
      await planned(scene(), { recurrence: patient, firstFireAt: now }),
      await planned(scene(), { recurrence: strict, firstFireAt: now + 1_000, shard: 1 }),
    ];
    const [first, second, third] = jobs as [NewRecurringJob, NewRecurringJob, NewRecurringJob];
    const { overdue } = scene().store.queries;
    const ids = async (at: number, limit = 10) => (await overdue(null, at, limit)).map(({ jobId }) => jobId);
    assert.deepEqual(await ids(now + 5_000), []);
    assert.deepEqual(await overdue(null, now + 5_001, 10), [{ jobId: first.jobId, name: "strict", nextFireAt: now }]);
    assert.deepEqual(await ids(now + 6_001), [first.jobId, third.jobId]);
    assert.deepEqual(await ids(now + 6_001, 1), [first.jobId]);
    assert.deepEqual(await ids(now + 3_600_001), [first.jobId, second.jobId, third.jobId]);
    const paused: Plan = { ...firstPlan(third), state: "PAUSED" };
    await scene().applied(1, { plans: [{ ...fire(scene(), third, { created: [] }), plan: paused }] });
    assert.deepEqual(await ids(now + 6_001), [first.jobId]);
  });

  it("lists the recurring jobs that are not deleted, page by page, with what their ledgers are judged by", async () => {
    await scene().submitted({ name: "once" });
    const jobs = [
      await planned(scene(), { name: "a" }),
      await planned(scene(), { recurrence: HOURLY, tenant: "acme" }),
    ];
    const gone = await planned(scene());
    const at = scene().runtime.now();
    const commandId = () => scene().runtime.uuid();
    await scene().store.jobs.delete({ tenant: TENANT, jobId: gone.jobId, commandId, cancelRunning: false, at });
    const { recurringJobs } = scene().store.queries;
    const expected = jobs
      .map((job) => {
        const { jobId, tenant, createdAt, definition } = job;
        const { name, recurrence } = definition;
        return { jobId, tenant, name, version: 1, createdAt, updatedAt: createdAt, recurrence, plan: firstPlan(job) };
      })
      .sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
    assert.deepEqual(await recurringJobs(null, 10), expected);
    assert.deepEqual(await recurringJobs(null, 1), expected.slice(0, 1));
    assert.deepEqual(await recurringJobs(expected[0]?.jobId ?? "", 10), expected.slice(1));
  });

  it("finds the traces of planned instants in a stretch of each of several jobs", async () => {
    const [job, other] = [await planned(scene()), await planned(scene())];
    const at = job.firstFireAt;
    const fired = [at, at + 10, at + 20].map((instant) => occurrence(scene(), job, instant));
    const skips = [
      { from: at + 2, to: at + 8, count: 4, reason: "PAUSED" as const },
      { from: at + 12, to: at + 12, count: 1, reason: "OVERLAP" as const },
    ];
    await scene().applied(job.shard, { plans: [fire(scene(), job, { created: fired, skips })] });
    const { traces } = scene().store.queries;
    const stretches = [
      { jobId: other.jobId, since: at, until: at + 100 },
      { jobId: job.jobId, since: at + 5, until: at + 20 },
      { jobId: job.jobId, since: at, until: at + 1 },
    ];
    const ranges = skips.map(({ from, to }) => ({ from, to }));
    assert.deepEqual(await traces(stretches, 10), [
      { fired: [], skipped: [] },
      { fired: [at + 10], skipped: ranges },
      { fired: [at], skipped: [] },
    ]);
    const whole = { jobId: job.jobId, since: at, until: at + 100 };
    assert.deepEqual(await traces([whole], 1), [{ fired: [at], skipped: ranges.slice(0, 1) }]);
    assert.deepEqual(await traces([], 10), []);
  });
}
