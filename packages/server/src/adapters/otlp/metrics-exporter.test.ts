import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { ExportMetricsServiceRequestSchema, type Metric } from "@mainspring/proto/otlp";
import { createMetrics } from "../../ops/metrics.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { MetricsExporter } from "./metrics-exporter.ts";
import { startReceiver } from "./receiver.fixture.ts";
import { resourceOf } from "./resource.ts";

describe("the export of metrics", () => {
  it("has all that /metrics shows, at once and in its interval, and goes on after failures", async (test) => {
    const receiver = await startReceiver(test);
    const runtime = new ManualRuntime();
    const metrics = createMetrics();
    metrics.submitted(7);
    metrics.lateness("mail", 30);
    metrics.lateness("mail", 40_000);
    metrics.watch(() => ({ ready: new Map([["mail", 3]]) }));
    const lines: string[] = [];
    const say = (...[told, text]: [object | string, string?]) => void lines.push(text ?? String(told));
    const log = { error: say, warn: say, info: say };
    const address = { url: receiver.url, headers: {} };
    const resource = resourceOf("1.2.3", "node-1");
    let armed = Promise.withResolvers<void>();
    const setTimer: typeof runtime.setTimer = (delayMs, run) => {
      armed.resolve();
      return runtime.setTimer(delayMs, run);
    };
    const watched = { now: () => runtime.now(), setTimer };
    const exporter = new MetricsExporter({ address, resource, metrics, everySec: 60, runtime: watched, log });
    const nextExport = async () => {
      armed = Promise.withResolvers();
      await runtime.advance(60_000);
      await armed.promise;
    };
    exporter.start();
    await armed.promise;
    const { path, body } = receiver.received[0] ?? assert.fail();
    assert.equal(path, "/v1/metrics");
    const [{ scopeMetrics } = assert.fail()] = fromBinary(ExportMetricsServiceRequestSchema, body).resourceMetrics;
    const exported = new Map(scopeMetrics[0]?.metrics.map((metric) => [metric.name, metric.data] as const));
    const shown = [...(await metrics.text()).body.matchAll(/^# TYPE (\S+) (counter|gauge|histogram)$/gm)];
    assert.deepEqual(
      [...exported.keys()].filter((name) => !shown.some(([, known]) => known === name)),
      [],
    );
    const total = exported.get("mainspring_jobs_submitted_total") as Extract<Metric["data"], { case: "sum" }>;
    assert.deepEqual([total.value.isMonotonic, total.value.dataPoints[0]?.value.value], [true, 7]);
    const gauge = exported.get("mainspring_executions_ready") as Extract<Metric["data"], { case: "gauge" }>;
    assert.equal(gauge.value.dataPoints[0]?.value.value, 3);
    const late = exported.get("mainspring_lateness_seconds") as Extract<Metric["data"], { case: "histogram" }>;
    const [point] = late.value.dataPoints;
    assert.deepEqual([point?.count, point?.sum, point?.attributes[0]?.key], [2n, 40.03, "pool"]);
    const { explicitBounds: bounds = [], bucketCounts = [] } = point ?? {};
    assert.deepEqual([bucketCounts[bounds.indexOf(0.05)], bucketCounts[bounds.indexOf(60)]], [1n, 1n]);
    assert.equal(bucketCounts.length, bounds.length + 1);

    receiver.answer = (response) => response.writeHead(503).end();
    await nextExport();
    await nextExport();
    receiver.answer = (response) => response.end();
    await nextExport();
    assert.equal(receiver.received.length, 4);
    const failure = "otlp: metrics could not be exported; the next export has them";
    assert.deepEqual(lines, [failure, "otlp: the receiver gets metrics again"]);
    await exporter.stop();
  });
});
