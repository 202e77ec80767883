import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics } from "./metrics.ts";

describe("the metrics", () => {
  it("show what was counted, under names that stay", async () => {
    const metrics = createMetrics();
    metrics.commit({ durationMs: 4, changes: 10, assigned: 7 });
    metrics.lateness("default", 12);
    metrics.finished("SUCCEEDED", 3);
    metrics.retried(2);
    metrics.refusedStale(1);
    metrics.workersLost(1);
    metrics.takeover("FENCED");
    metrics.submitted(5);
    metrics.submitCommit({ durationMs: 2, jobs: 5 });
    metrics.storeOutage();
    metrics.request({ method: "POST", route: "/v1/jobs", status: 201, durationMs: 3 });
    let ready = 41;
    metrics.gauge("ready", () => ready);
    ready++;
    const { contentType, body } = await metrics.text();
    assert.match(contentType, /^text\/plain/);
    for (const line of [
      "mainspring_commit_changes_sum 10",
      "mainspring_assigned_total 7",
      'mainspring_lateness_seconds_sum{pool="default"} 0.012',
      'mainspring_executions_finished_total{state="SUCCEEDED"} 3',
      "mainspring_attempts_retried_total 2",
      "mainspring_stale_results_refused_total 1",
      "mainspring_workers_lost_total 1",
      'mainspring_takeovers_total{reason="FENCED"} 1',
      "mainspring_jobs_submitted_total 5",
      "mainspring_submit_commit_jobs_count 1",
      "mainspring_store_outages_total 1",
      'mainspring_http_request_duration_seconds_count{method="POST",route="/v1/jobs",status="201"} 1',
      "mainspring_ready 42",
    ]) {
      assert.ok(body.includes(`${line}\n`), line);
    }
    assert.match(body, /nodejs_eventloop_lag_seconds/);
  });

  it("keep the series of pools bounded, whatever clients call them", async () => {
    const metrics = createMetrics();
    for (let pool = 0; pool < 500; pool++) metrics.lateness(`pool-${pool}`, 1);
    const { body } = await metrics.text();
    assert.equal([...body.matchAll(/mainspring_lateness_seconds_count\{/g)].length, 101);
    assert.match(body, /mainspring_lateness_seconds_count\{pool="other"\} 400/);
  });
});
