import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Costs, MeasuredCase } from "./costs.ts";
import { amountAt } from "./load.ts";
import { type Needs, needsOf } from "./needs.ts";
import type { Plan } from "./plan.ts";

const measured = (figures: MeasuredCase["figures"], size: number | null = null): MeasuredCase => ({
  case: "case",
  title: "title",
  contender: "mainspring",
  size,
  commit: "0123456789ab",
  at: "2026-11-28T10:00:00.000Z",
  runs: 1,
  file: "results.json",
  figures,
});

const ofJobs = (serverCpuUs: number, storeCpuUs: number, logBytes: number, writesPerThousand: number) => ({
  serverCpuUs,
  storeCpuUs,
  logBytes,
  writesPerThousand,
});

/** Costs in round numbers, without the cases that a report may lack. */
const COSTS: Costs = {
  machines: { "results.json": { CPU: "two cores" } },
  limits: { connections: 13, workers: 10_000, entries: 200_000 },
  titles: {} as Costs["titles"],
  cases: {
    cycle: measured({ jobsPerSec: 10_000, ...ofJobs(40, 50, 1_400, 1) }),
    drain: measured({ jobsPerSec: 20_000, ...ofJobs(20, 30, 600, 0.4) }),
    pickup200: measured(ofJobs(2_000, 1_500, 1_800, 2_700)),
    pickup2000: measured(ofJobs(300, 200, 2_000, 300)),
    submit64: measured({ jobsPerSec: 5_000, ...ofJobs(160, 40, 800, 40) }),
    cluster1: measured({ jobsPerSec: 10_000, ...ofJobs(40, 50, 1_400, 1) }),
    cluster2: measured({ jobsPerSec: 9_000, ...ofJobs(80, 56, 1_420, 3) }),
    cluster3: measured({ jobsPerSec: 8_000, ...ofJobs(100, 62, 1_440, 5) }),
    fleet1: null,
    fleet3: null,
    ready: null,
    recurring: null,
    storage: null,
    payload: null,
    eventsOff: null,
    eventsApi: null,
    eventsKafka: null,
  },
};

const FLEET = {
  fleet1: measured({ jobsPerSec: 2_500, ratio: 0.1, cpuPercent: 20, residentMiB: 700 }, 10_000),
  fleet3: measured({ residentMiB: 1_200 }, 10_000),
};

/** 1,000 jobs/s, and 2,000 at the peak. */
const PLAN: Plan = {
  jobsPerDay: 86_400_000,
  peakFactor: 2,
  payloadBytes: 0,
  resultBytes: 0,
  attempts: 1,
  retentionDays: 10,
  workers: 100,
  slots: 10,
  handlerMs: 100,
  recurring: 0,
  nodes: 3,
  coresPerNode: 1,
  events: "off",
  submits: "batches",
  store: { cores: 8, connections: 100, walMbPerSec: 100, iops: 3_000, gib: 1_000 },
};

const withCases = (cases: Partial<Costs["cases"]>): Costs => ({ ...COSTS, cases: { ...COSTS.cases, ...cases } });

function valueOf({ needs }: Needs, name: string): number {
  const need = needs.find((one) => one.name === name);
  assert.ok(need, `there is no need ${name}`);
  return need.value;
}

function assertNear(value: number, expected: number): void {
  assert.ok(Math.abs(value - expected) <= Math.abs(expected) * 1e-9, `${value} is not ${expected}`);
}

describe("needs of a plan", () => {
  it("follow from the costs of a job and of messages between nodes", () => {
    const needs = needsOf(PLAN, COSTS);
    const expected: [string, number][] = [
      ["jobs, mean", 1_000],
      ["jobs, peak", 2_000],
      // 2,000/s × 0.1 s
      ["busy slots, peak", 200],
      ["jobs of a node, peak", 2_000 / 3],
      // 2,000/s × (40 + 90 × 2/3) µs; 90 µs = (100 − 40) / (2/3)
      ["server CPU, peak", 0.2],
      // 2,000/s × (50 + 18 × 2/3) µs
      ["store CPU, peak", 0.124],
      // 2,000/s × (1,400 + 60 × 2/3) bytes
      ["WAL, peak", 2.88],
      // 1,440 bytes × 86.4 million
      ["WAL of a day", 124.416],
      // 2,000/s × (1 + 6 × 2/3) / 1,000
      ["commits, peak", 10],
      // 3 × 13 + 3
      ["connections", 42],
      // 86.4 million × 10 days × 2
      ["rows kept", 1_728_000_000],
      // 100 / 3, rounded up
      ["workers of a node", 34],
    ];
    for (const [name, value] of expected) assertNear(valueOf(needs, name), value);
  });

  it("follow for single jobs from the two nearest measured rates", () => {
    const single: Plan = { ...PLAN, submits: "single", nodes: 1 };
    // The peak is the rate of a case: 2,000/s × 300 µs
    assertNear(valueOf(needsOf(single, COSTS), "server CPU, peak"), 0.6);
    // Each of two nodes: 0.4 + (0.6 − 0.4) × 800/1,800 cores; and 2,000/s × 90 µs × 1/2
    assertNear(valueOf(needsOf({ ...single, nodes: 2 }, COSTS), "server CPU, peak"), 2 * (0.4 + 0.16 / 1.8) + 0.09);
    // Beyond the last rate a job costs what it costs there: 10,000/s × (160 + 20) µs
    const fast = { ...single, jobsPerDay: 864_000_000, peakFactor: 1 };
    assertNear(valueOf(needsOf(fast, COSTS), "server CPU, peak"), 1.8);
    assert.equal(amountAt([[200, 2_000]], 100), 200_000);
  });

  it("have a part for further attempts, for bytes, and for events", () => {
    // 2,000/s × 0.5 × 20 µs
    const attempts = needsOf({ ...PLAN, attempts: 1.5 }, COSTS);
    assertNear(valueOf(attempts, "server CPU, peak"), 0.22);
    // 2,000/s × 0.1 s × 1.5
    assertNear(valueOf(attempts, "busy slots, peak"), 300);
    const bytes = { ...PLAN, payloadBytes: 1_000, resultBytes: 24 };
    // 2,000/s × (1,440 + 1,024) bytes
    assertNear(valueOf(needsOf(bytes, COSTS), "WAL, peak"), 4.928);
    const payload = measured(ofJobs(10_485.76, 0, 2_097_152, 0));
    // The log gets two bytes for one of the payload, and each costs 0.01 µs of the server.
    const needs = needsOf(bytes, withCases({ payload }));
    assertNear(valueOf(needs, "WAL, peak"), 6.976);
    assertNear(valueOf(needs, "server CPU, peak"), 0.22);
    const events = withCases({
      eventsOff: measured(ofJobs(20, 30, 600, 0.4)),
      eventsApi: measured(ofJobs(25, 40, 1_600, 0.4)),
    });
    assertNear(valueOf(needsOf({ ...PLAN, events: "api" }, events), "server CPU, peak"), 0.21);
    assertNear(valueOf(needsOf({ ...PLAN, events: "api" }, events), "WAL, peak"), 4.88);
  });

  it("have the room of the history, and the memory of a node", () => {
    const needs = needsOf(
      { ...PLAN, payloadBytes: 100, resultBytes: 24, workers: 3_000, recurring: 500_000 },
      withCases({
        ...FLEET,
        storage: measured({ bytesPerJob: 900 }),
        ready: measured({ residentMiB: 450 }, 100_000),
        recurring: measured({ cpuPercent: 1, residentMiB: 400 }, 1_000_000),
      }),
    );
    // 864 million × 1,024 bytes
    assertNear(valueOf(needs, "store"), (864_000_000 * 1_024) / 2 ** 30);
    // A worker: (700 − 400) / (10,000 − 3,333.3) = 0.045 MiB; a node: 700 − 450 = 250; 1,000 workers: 45; jobs: (450 − 250) × 2; 200
    assertNear(valueOf(needs, "memory of a node, at most"), 250 + 45 + 400 + 200);
    // 0.2, as without; 2,000/s × 0.9 × 400 µs × 3/10; heartbeats: 0.2 × 3/10; recurring: 0.01 / 2
    assertNear(valueOf(needs, "server CPU, peak"), 0.2 + 0.216 + 0.06 + 0.005);
    assert.deepEqual(needs.notMeasured, [
      "room of payloads and results in the store: each byte counts once, because jobs of the case storage have none",
      "CPU for the bytes of payloads: the case payload is missing",
      "WAL for the bytes of payloads and results: each counts once, because the case payload is missing",
      "CPU for the bytes of results: no case has large results",
    ]);
  });
});

describe("a plan", () => {
  it("gets as many nodes that the others carry the peak if one fails", () => {
    const nodesOf = (plan: Partial<Plan>, costs = COSTS) => needsOf({ ...PLAN, nodes: null, ...plan }, costs).nodes;
    // 2,000/s × 40 µs = 0.08 cores of one node
    assert.equal(nodesOf({}), 2);
    // Eight nodes: 40,000/s × (40 + 90 × 7/8) µs = 4.75 of 4.8 cores. Seven: 4.69 of 4.2
    assert.equal(nodesOf({ jobsPerDay: 3_456_000_000, peakFactor: 1 }), 9);
    // More cores of a node do not count, and half a core does.
    assert.equal(nodesOf({ jobsPerDay: 3_456_000_000, peakFactor: 1, coresPerNode: 4 }), 9);
    assert.equal(nodesOf({ jobsPerDay: 3_456_000_000, peakFactor: 1, coresPerNode: 0.5 }), 18);
    // 10,000 workers a node
    assert.equal(nodesOf({ workers: 30_001 }), 5);
    // 10,000 jobs/s is the largest measured rate of a node.
    const cheap = measured({ jobsPerSec: 1_000, ...ofJobs(40, 50, 1_400, 1) });
    assert.equal(nodesOf({}, withCases({ cycle: cheap })), 3);
  });

  it("gets as many workers as its jobs occupy slots", () => {
    const needs = needsOf({ ...PLAN, workers: null, handlerMs: 101 }, COSTS);
    assert.equal(needs.workers, 21);
    assert.equal(needsOf({ ...PLAN, workers: null, handlerMs: 0 }, COSTS).workers, 1);
  });

  it("has the need that reaches its limit first as its bottleneck", () => {
    const bottleneckOf = (plan: Partial<Plan>) => {
      const { name, share, jobsPerDayAtLimit } = needsOf({ ...PLAN, ...plan }, COSTS).bottleneck;
      return [name, share, Math.round(jobsPerDayAtLimit)];
    };
    // 200 of 1,000 slots; the connections of three nodes do not grow.
    assert.deepEqual(bottleneckOf({}), ["busy slots, peak", 0.2, 432_000_000]);
    // 2.88 of 1.44 MB/s
    const store = { ...PLAN.store, walMbPerSec: 1.44 };
    assert.deepEqual(bottleneckOf({ store }), ["WAL, peak", 2, 43_200_000]);
    // 42 of 41 connections, however few the jobs are
    assert.deepEqual(bottleneckOf({ store: { ...PLAN.store, connections: 41 } }), ["connections", 42 / 41, 0]);
  });

  it("gets more nodes and workers on the way to its bottleneck, if it names none", () => {
    const { bottleneck } = needsOf({ ...PLAN, workers: null, nodes: null, coresPerNode: 0.2 }, COSTS);
    // Two nodes have 29 connections now, seven have 94, and eight too many. Six carry 0.72 cores of jobs at 40 + 90 × 5/6 µs.
    assert.deepEqual([bottleneck.name, bottleneck.share], ["connections", 0.29]);
    assertNear(bottleneck.jobsPerDayAtLimit, (0.72 / 115e-6 / 2) * 86_400);
  });

  it("leaves out needs that were not measured, and says so", () => {
    const needs = needsOf({ ...PLAN, payloadBytes: 1, recurring: 5, events: "kafka" }, COSTS);
    const names = needs.needs.map(({ name }) => name);
    assert.ok(!names.includes("store") && !names.includes("memory of a node, at most"));
    assert.deepEqual(
      needs.notMeasured.map((text) => text.split(":")[0]),
      [
        "bytes of the store",
        "memory of a node",
        "cost of events",
        "CPU for the bytes of payloads",
        "WAL for the bytes of payloads and results",
        "CPU for messages to many workers",
        "CPU for recurring jobs",
      ],
    );
    const events = withCases({
      eventsOff: measured(ofJobs(20, 30, 600, 0.4)),
      eventsKafka: measured(ofJobs(25, 40, 1_600, 0.4)),
    });
    const about = (kind: Plan["events"]) =>
      needsOf({ ...PLAN, events: kind }, events).notMeasured.filter((text) => text.startsWith("cost of events"));
    assert.deepEqual([about("off"), about("kafka")], [[], []]);
    assert.deepEqual(about("api"), ["cost of events: the case events is missing"]);
    assert.deepEqual(about("clickhouse"), ["cost of events: no case has ClickHouse alone"]);
    // Two fleets of the same memory say nothing of a worker.
    const chance = withCases({
      ...FLEET,
      fleet3: measured({ residentMiB: 2_400 }, 10_000),
      ready: measured({ residentMiB: 1 }, 1),
    });
    assert.ok(!needsOf(PLAN, chance).needs.some(({ name }) => name.startsWith("memory")));
  });
});
