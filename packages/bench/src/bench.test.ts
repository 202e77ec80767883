import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { mainspringDefault } from "./contenders/mainspring/mainspring.ts";
import type { Figures } from "./figures.ts";
import { drainCase } from "./scenarios/drain.ts";
import { fair } from "./scenarios/fair.ts";
import { chainCase, costsCase, layeredCase } from "./scenarios/flows.ts";
import { midnight } from "./scenarios/midnight.ts";
import { profiles } from "./scenarios/profiles.ts";
import type { Case, Scale } from "./scenarios/scenario.ts";
import { sleepersCase } from "./scenarios/sleepers.ts";
import { latencyCase, rateCase } from "./scenarios/steps.ts";
import { Stage } from "./services/stage.ts";

const SCALE: Scale = {
  isQuick: true,
  backlogJobs: 1,
  herdJobs: 200,
  tenants: 3,
  sleepers: 1,
  perSec: 1_000,
  storedJobs: [1, 2],
};

/** Small runs with real servers. A run counts its jobs in the worker and in the store, and throws if one is missing. */
describe("the benchmark on the PostgreSQL of the server", () => {
  const stage = new Stage(300, "18");
  after(() => stage[Symbol.asyncDispose]());

  const measured = async (item: Case | undefined): Promise<Figures> =>
    (await item?.measure(mainspringDefault, stage)) as Figures;
  const isEach = (figures: Figures, ...names: (keyof Figures)[]) => {
    for (const name of names) assert.ok((figures[name] ?? 0) > 0, `${name} in ${JSON.stringify(figures)}`);
  };

  it("drains a backlog, and knows its costs", async () => {
    isEach(await measured(drainCase(500)), "jobsPerSec", "totalCpuUs", "logBytes", "writesPerThousand");
  });

  it("measures jobs beside a herd that stays whole", async () => {
    isEach(await measured(midnight.cases(SCALE)[0]), "p50Ms", "p99Ms", "residentMiB");
  });

  it("measures a tenant beside the backlog and the herd of another one, and many tenants", async () => {
    const [backlog, herd, tenants] = fair.cases(SCALE);
    isEach(await measured(backlog), "p50Ms", "p99Ms", "residentMiB");
    isEach(await measured(herd), "p50Ms", "p99Ms", "residentMiB");
    isEach(await measured(tenants), "jobsPerSec", "ratio", "residentMiB", "totalCpuUs");
  });

  it("measures submits with keys and with records", async () => {
    const [, , , , keyed, audited] = fair.cases(SCALE);
    for (const submits of [keyed, audited]) {
      const [, ours] = submits?.contenders ?? [];
      assert.ok(ours);
      isEach((await submits?.measure(ours, stage)) as Figures, "jobsPerSec", "serverCpuUs", "p99Ms");
    }
  });

  it("measures CPU and memory of a Redis that is the store", async () => {
    const [cost, memory] = profiles.cases(SCALE).slice(-2);
    for (const [item, ...names] of [
      [cost, "storeCpuUs", "totalCpuUs", "logBytes"],
      [memory, "bytesPerJob"],
    ] as const) {
      const [onRedis] = item?.contenders ?? [];
      assert.ok(onRedis);
      isEach((await item?.measure(onRedis, stage)) as Figures, ...names);
    }
  });

  it("measures steps one at a time and of many handlers, and counts their records", async () => {
    isEach(await measured(latencyCase({ jobs: 2, steps: 5 })), "p50Ms", "p99Ms", "stepsPerSec");
    const many = await measured(rateCase({ jobs: 30, steps: 4 }));
    isEach(many, "stepsPerSec", "totalStepCpuUs", "stepLogBytes", "writesPerThousandSteps");
  });

  it("measures workflows, whose runs are no jobs, and holds of the event loop meanwhile", async () => {
    isEach(await measured(chainCase({ hops: 5, polledHops: 1 })), "p50Ms", "p99Ms");
    const layered = await measured(layeredCase({ layers: 3, width: 5, edges: 30 }));
    isEach(layered, "nodesPerSec", "submitMs", "submitHeldMs", "heldMs", "totalCpuUs", "logBytes");
  });

  it("measures the costs of nodes beside those of jobs, pair by pair", async () => {
    const pairs = (await costsCase({ nodes: 2_000, pairs: 2 }).measure(mainspringDefault, stage)) as Figures[];
    assert.equal(pairs.length, 2);
    for (const pair of pairs) isEach(pair, "storeCpuRatio", "logRatio");
  });

  it("measures handlers that sleep, which leave no slot occupied", async () => {
    const figures = await measured(sleepersCase({ sleepers: 60, restMs: 100 }));
    isEach(figures, "suspensionsPerSec", "logBytes");
    assert.equal(figures.slotsInUse, 0);
  });
});
