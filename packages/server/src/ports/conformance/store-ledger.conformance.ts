import assert from "node:assert/strict";
import { it } from "node:test";
import type { Skip } from "../../domain/recurrence.ts";
import type { NewRecurringJob } from "../store.ts";
import type { LedgerItem } from "../store-queries.ts";
import type { CreatedOccurrence } from "../store-recurrences.ts";
import { fire, occurrence, planned } from "./recurring-scene.conformance.ts";
import type { Scene } from "./store-scene.conformance.ts";

/** Ledger of the planned instants of a job. */
export function ledgerConformance(scene: () => Scene): void {
  it("tells of each planned instant, newest first", async () => {
    const job = await planned(scene());
    await wrote(scene(), job, [at(10), at(40, "BACKFILL")], [skip(20, "OVERLAP"), range(30, 35, 500)]);
    assert.deepEqual(await told(scene(), job, 0, 100), ["40 ran", "30-35 500 PAUSED", "20-20 1 OVERLAP", "10 ran"]);
    const { items } = await scene().store.queries.ledger("default", job.jobId, 0, 100, { after: null, limit: 1 });
    const [newest] = items as [LedgerItem & { execution: { trigger: string; state: string } }];
    assert.deepEqual([newest.execution.trigger, newest.execution.state], ["BACKFILL", "PENDING"]);
  });

  it("keeps to what is asked for, and tells of a stretch where any of it lies within", async () => {
    const job = await planned(scene());
    await wrote(scene(), job, [at(10), at(20), at(60)], [range(1, 5, 101), range(30, 50, 200), skip(70, "MISFIRE")]);
    assert.deepEqual(await told(scene(), job, 10, 20), ["10 ran"]);
    assert.deepEqual(await told(scene(), job, 40, 61), ["60 ran", "30-50 200 PAUSED"]);
    assert.deepEqual(await told(scene(), job, 50, 60), ["30-50 200 PAUSED"]);
    assert.deepEqual(await told(scene(), job, 51, 60), []);
    assert.deepEqual(await told(scene(), job, 0, 2), ["1-5 101 PAUSED"]);
    assert.deepEqual(await told(scene(), job, 6, 31), ["30-50 200 PAUSED", "20 ran", "10 ran"]);
  });

  it("tells of a skipped instant that was made up for as what made up for it", async () => {
    const job = await planned(scene());
    await wrote(scene(), job, [], [skip(10, "MISFIRE"), range(20, 29, 110), skip(40, "OVERLAP")]);
    await wrote(
      scene(),
      job,
      [10, 20, 25].map((instant) => at(instant, "BACKFILL")),
      [],
      2,
    );
    assert.deepEqual(await told(scene(), job, 0, 100), [
      "40-40 1 OVERLAP",
      "25 ran",
      "20 ran",
      "20-29 108 PAUSED",
      "10 ran",
    ]);
  });

  it("does not count what was triggered or run again", async () => {
    const { runtime, store } = scene();
    const job = await planned(scene());
    const { jobId, shard, definition } = job;
    const manual = {
      ...scene().job({ ...definition, jobId, executionId: runtime.uuid(), shard, scheduledAt: runtime.now() }),
      jobVersion: 1,
    };
    assert.deepEqual(await store.jobs.run({ ...manual, retryOf: null }), { kind: "ACCEPTED" });
    assert.deepEqual(await told(scene(), job, 0, Number.MAX_SAFE_INTEGER), []);
  });

  it("tells of all instants page by page, each once", async () => {
    const job = await planned(scene());
    const other = await planned(scene());
    const created = Array.from({ length: 30 }, (_, i) => at(i * 10));
    const skips = Array.from({ length: 30 }, (_, i) => skip(i * 10 + 5, "OVERLAP"));
    await wrote(scene(), job, created, [...skips, range(290, 294, 120)]);
    await wrote(scene(), other, created, skips);
    const all = await told(scene(), job, 0, 1_000);
    assert.equal(all.length, 61);
    for (const limit of [1, 2, 7, 60]) {
      const items: LedgerItem[] = [];
      for (let after: string | null = null; ; ) {
        const page = await scene().store.queries.ledger("default", job.jobId, 0, 1_000, { after, limit });
        assert.ok(page.items.length <= limit);
        items.push(...page.items);
        after = page.next;
        if (after === null) break;
      }
      assert.deepEqual(items.map(text), all, `by ${limit}`);
    }
  });
}

interface At {
  instant: number;
  trigger: CreatedOccurrence["trigger"];
}

function at(instant: number, trigger: CreatedOccurrence["trigger"] = "SCHEDULE"): At {
  return { instant, trigger };
}

function skip(instant: number, reason: Skip["reason"]): Skip {
  return { from: instant, to: instant, count: 1, reason };
}

function range(from: number, to: number, count: number): Skip {
  return { from, to, count, reason: "PAUSED" };
}

async function wrote(scene: Scene, job: NewRecurringJob, ran: readonly At[], skips: readonly Skip[], wasRevision = 1) {
  const created = ran.map(({ instant, trigger }) => occurrence(scene, job, instant, { trigger }));
  const change = fire(scene, job, { created, skips, wasRevision, revision: wasRevision + 1 });
  await scene.applied(job.shard, { plans: [change] });
}

async function told(scene: Scene, { jobId }: NewRecurringJob, since: number, until: number): Promise<string[]> {
  const { items, next } = await scene.store.queries.ledger("default", jobId, since, until, { after: null, limit: 100 });
  assert.equal(next, null);
  return items.map(text);
}

function text(item: LedgerItem): string {
  if ("execution" in item) return `${item.plannedAt} ran`;
  const { until, count, reason } = item.skipped;
  return `${item.plannedAt}-${until} ${count} ${reason}`;
}
