import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { Histogram, type Metric, Registry } from "prom-client";
import { PoolHistogram } from "./pool-histogram.ts";

it("a histogram by pool is written as prom-client writes its own", async () => {
  const values = fc.array(fc.tuple(fc.constantFrom("default", "mail"), fc.constantFrom(0, 0.5, 1, 1.5, 2, 7)));
  const bounds = [1, 2, 5];
  const property = fc.asyncProperty(values, async (observed) => {
    const [name, help] = ["wait_seconds", "How long"];
    const theirs = new Histogram({ name, help, buckets: bounds, labelNames: ["pool"], registers: [] });
    const ours = new PoolHistogram(name, help, bounds);
    for (const [pool, value] of observed) {
      theirs.observe({ pool }, value);
      ours.observe(pool, value);
    }
    assert.equal(await written(ours as unknown as Metric), await written(theirs as Metric));
  });
  await fc.assert(property, { numRuns: 50 });
});

async function written(metric: Metric): Promise<string> {
  const registry = new Registry();
  registry.registerMetric(metric);
  return await registry.metrics();
}
