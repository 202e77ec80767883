import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, POOLS_MAX } from "./metrics.ts";
import { FIGURES, PREFIX, PROCESS_FIGURES } from "./metrics-catalogue.ts";

async function linesOf(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  return (await metrics.text()).body.split("\n");
}

/** Reports one value of every metric that is reported, rather than read. */
function tellAll(metrics: ReturnType<typeof createMetrics>): void {
  metrics.commit({ durationMs: 4, changes: 10, assigned: 7 });
  metrics.lateness("default", 12);
  metrics.ran("default", 250);
  metrics.finished("SUCCEEDED", 3);
  metrics.planned("OVERLAP", 4);
  metrics.deadLetter("batch");
  metrics.retried(2);
  metrics.refusedStale(1);
  metrics.takeover("FENCED");
  metrics.submitted(5);
  metrics.submitCommit({ durationMs: 2, jobs: 5 });
  metrics.storeOutage();
  metrics.request({ method: "POST", route: "/v1/jobs", status: 201, durationMs: 3 });
}

describe("the metrics", () => {
  it("show what was told, under names that stay", async () => {
    const metrics = createMetrics();
    tellAll(metrics);
    const lines = await linesOf(metrics);
    for (const line of [
      "mainspring_commit_changes_sum 10",
      "mainspring_assigned_total 7",
      'mainspring_lateness_seconds_sum{pool="default"} 0.012',
      'mainspring_run_seconds_sum{pool="default"} 0.25',
      'mainspring_executions_finished_total{state="SUCCEEDED"} 3',
      'mainspring_planned_instants_total{outcome="OVERLAP"} 4',
      'mainspring_dead_letters_total{pool="batch"} 1',
      "mainspring_attempts_retried_total 2",
      "mainspring_stale_results_refused_total 1",
      'mainspring_takeovers_total{cause="FENCED"} 1',
      "mainspring_jobs_submitted_total 5",
      "mainspring_submit_commit_jobs_count 1",
      "mainspring_store_outages_total 1",
      'mainspring_http_request_duration_seconds_count{method="POST",route="/v1/jobs",status="201"} 1',
    ]) {
      assert.ok(lines.includes(line), line);
    }
  });

  it("read each part once an answer, and no longer show the pools that it no longer names", async () => {
    const metrics = createMetrics();
    let reads = 0;
    let ready = new Map([
      ["default", 41],
      ["batch", 2],
    ]);
    metrics.watch(() => {
      reads++;
      return { ready, waiting: 7, workersLost: reads, storeWaiting: new Map([["commit", 3]]) };
    });
    const first = await linesOf(metrics);
    assert.ok(first.includes('mainspring_executions_ready{pool="batch"} 2'));
    assert.ok(first.includes('mainspring_store_waiting{purpose="commit"} 3'));
    assert.ok(first.includes("mainspring_executions_waiting 7"));
    ready = new Map([["default", 1]]);
    const second = await linesOf(metrics);
    assert.ok(second.includes('mainspring_executions_ready{pool="default"} 1'));
    assert.equal(second.filter((line) => line.includes('pool="batch"')).length, 0);
    assert.ok(second.includes("mainspring_workers_lost_total 2"), "a total is what was read, not the sum of all reads");
    assert.equal(reads, 2);
  });

  it("tell the pools beyond a hundred in one series, and add them up there", async () => {
    const metrics = createMetrics();
    const pools = Array.from({ length: POOLS_MAX + 50 }, (_, index) => `pool-${index}`);
    for (const pool of pools) metrics.lateness(pool, 1);
    metrics.watch(() => ({ running: new Map(pools.map((pool) => [pool, 2])) }));
    const lines = await linesOf(metrics);
    assert.ok(lines.includes('mainspring_lateness_seconds_count{pool="other"} 50'));
    assert.ok(lines.includes('mainspring_executions_running{pool="other"} 100'));
    const series = lines.filter((line) => line.startsWith("mainspring_executions_running{"));
    assert.equal(series.length, POOLS_MAX + 1);
  });

  it("are those of the catalogue and no others", async () => {
    const metrics = createMetrics();
    const { body } = await metrics.text();
    const types = new Map([...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type]) => [name, type]));
    for (const [name, { type }] of Object.entries(FIGURES)) assert.equal(types.get(PREFIX + name), type, name);
    for (const name of Object.keys(PROCESS_FIGURES)) assert.ok(types.has(name), name);
    const ours = [...types.keys()].filter((name) => name.startsWith(PREFIX));
    assert.equal(ours.length, Object.keys(FIGURES).length);
  });

  it("are made once for all who ask at the same moment, and again for those who ask later", async () => {
    const metrics = createMetrics();
    const [one, other] = await Promise.all([metrics.text(), metrics.text()]);
    assert.equal(one, other);
    metrics.submitted(7);
    assert.ok((await metrics.text()).body.includes("mainspring_jobs_submitted_total 7"));
  });
});
