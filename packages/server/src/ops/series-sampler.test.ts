import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { POINT_MS, type SeriesColumn } from "../domain/series/figures.ts";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import { createMetrics } from "./metrics.ts";
import { SeriesSampler } from "./series-sampler.ts";

/** A sampler of metrics on a clock that the test moves; `aheadMs` is added to what the clock says. */
function stage() {
  const clock = new ManualRuntime();
  const shift = { aheadMs: 0 };
  const runtime = {
    now: () => clock.now() + shift.aheadMs,
    monotonicMs: () => clock.monotonicMs(),
    random: () => clock.random(),
    uuid: () => clock.uuid(),
    setTimer: (delayMs: number, run: () => void) => clock.setTimer(delayMs, run),
  };
  const metrics = createMetrics();
  const first = runtime.now() / POINT_MS;
  const sampler = new SeriesSampler({ metrics, runtime, log: pino({ level: "silent" }), loopLagSec: () => 0.25 });
  sampler.start();
  const told = (points: number) => sampler.told(first, first + points);
  const column = (points: number, name: string, label = "", bucket?: number): SeriesColumn["values"] | undefined =>
    told(points).columns.find((one) => one.name === name && one.label === label && one.bucket === bucket)?.values;
  return { clock, shift, metrics, sampler, told, column };
}

describe("the sampler of a node's series", () => {
  it("keeps the growth of counters and histograms in each point, and levels as they are", async () => {
    const { clock, metrics, told, column } = stage();
    metrics.watch(() => ({ clusterNodes: 3, ready: new Map([["p", 7]]) }));
    metrics.retried(2);
    metrics.failed("charge");
    metrics.lateness("p", 40);
    metrics.lateness("p", 40_000);
    await clock.advance(POINT_MS);
    metrics.retried(3);
    metrics.lateness("p", 41);
    await clock.advance(POINT_MS);
    await clock.advance(POINT_MS);
    assert.deepEqual(told(4).nodes, [3, 3, 3, null]);
    assert.deepEqual(column(3, "attempts_retried_total"), [2, 3, null]);
    assert.deepEqual(column(3, "attempts_failed_total", "charge"), [1, null, null]);
    assert.deepEqual(column(3, "lateness_seconds", "p", 5), [1, 1, null], "25 to 50 ms");
    assert.deepEqual(column(3, "lateness_seconds", "p", 14), [1, null, null], "30 to 60 s");
    assert.deepEqual(column(3, "executions_ready", "p"), [7, 7, 7]);
    assert.deepEqual(column(3, "event_loop_lag_seconds"), [0.25, 0.25, 0.25]);
  });

  it("keeps no level of a part that the node does not have", async () => {
    const { clock, column } = stage();
    await clock.advance(POINT_MS);
    assert.equal(column(1, "redis_up"), undefined);
    assert.equal(column(1, "kafka_bus_up"), undefined);
  });

  it("adds up a counter over labels that the series do not have, also while some are not shown", async () => {
    const { clock, metrics, column } = stage();
    let takeovers = new Map([
      ["1", 4],
      ["2", 2],
    ]);
    metrics.watch(() => ({ shardTakeovers: takeovers }));
    await clock.advance(POINT_MS);
    takeovers = new Map([["1", 5]]);
    await clock.advance(POINT_MS);
    takeovers = new Map([
      ["1", 5],
      ["2", 3],
    ]);
    await clock.advance(POINT_MS);
    assert.deepEqual(column(3, "shard_takeovers_total"), [6, 1, 1]);
  });

  it("leaves the points empty in which the process stood still, and begins the next one at its time", async () => {
    const { clock, shift, metrics, told, column } = stage();
    await clock.advance(POINT_MS);
    metrics.retried(1);
    shift.aheadMs = 3 * POINT_MS + 1;
    await clock.advance(POINT_MS);
    await clock.advance(POINT_MS - 1);
    assert.deepEqual(told(7).nodes, [1, null, null, null, 1, 1, null]);
    assert.deepEqual(column(7, "attempts_retried_total")?.[4], 1);
  });

  it("waits again if the clock of the store has gone back under a timer", async () => {
    const { clock, shift, metrics, told, column } = stage();
    metrics.retried(1);
    shift.aheadMs = -5;
    await clock.advance(POINT_MS);
    assert.deepEqual(told(1).nodes, [null]);
    metrics.retried(1);
    await clock.advance(5);
    assert.deepEqual(told(2).nodes, [1, null]);
    assert.deepEqual(column(1, "attempts_retried_total"), [2]);
  });
});
