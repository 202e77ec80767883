import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Evidence } from "./evidence.ts";
import { judge, type RuleName } from "./judge.ts";
import { inTime } from "./planned.ts";
import { Story } from "./testing/story.ts";

describe("of a cluster the judge wants to see too", () => {
  const ranFrom10To20 = () => {
    const story = new Story();
    story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
    return story.evidence();
  };
  const finds = (evidence: Evidence, rule: RuleName) =>
    judge(evidence, "chaos").violations.some((violation) => violation.rule === rule);

  it("links that did something to somebody", () => {
    const demanded = { MESH_LINK_CUT: 1 };
    const cut = (hits: number) => ({
      ...ranFrom10To20(),
      demanded,
      faults: [{ event: "MESH_LINK_CUT" as const, at: 15, pid: 9, hits }],
    });
    assert.deepEqual([finds(cut(0), "faultsHappened"), finds(cut(1), "faultsHappened")], [true, false]);
  });

  it("that an outage is told at once, and when to ask again", () => {
    const told = (answer: { status: number | null; retryAfter: string | null; tookMs: number }) => ({
      ...ranFrom10To20(),
      faults: [{ event: "OUTAGE_TOLD" as const, at: 15, pid: 9, ...answer }],
    });
    const found = [
      told({ status: 503, retryAfter: "1", tookMs: 5 }),
      told({ status: 503, retryAfter: null, tookMs: 5 }),
      told({ status: 200, retryAfter: "1", tookMs: 5 }),
      told({ status: null, retryAfter: null, tookMs: 30_000 }),
    ].map((evidence) => finds(evidence, "outagesAreTold"));
    assert.deepEqual(found, [false, true, true, true]);
  });

  it("the ends of all executions in the replica", () => {
    const evidence = ranFrom10To20();
    const ids = evidence.executions.map(({ executionId }) => executionId);
    const found = [null, new Set(ids), new Set(["another"])].map((endsInReplica) =>
      finds({ ...evidence, endsInReplica }, "replicaIsComplete"),
    );
    assert.deepEqual(found, [false, false, true]);
  });

  it("a recurring job in time while a system is down for which no job waits", () => {
    const down = (event: "CLICKHOUSE" | "ETCD") => ({
      ...ranFrom10To20(),
      faults: [
        { event: `${event}_KILLED` as const, at: 0, pid: 9 },
        { event: `${event}_READY` as const, at: 100_000, pid: 9 },
      ],
    });
    const latest = (event: "CLICKHOUSE" | "ETCD") => inTime(0, { ...down(event), wallClockZeroMs: 0 });
    assert.ok(latest("CLICKHOUSE") < latest("ETCD"));
  });

  it("a success of what ended while the store was down", () => {
    const down = (from: number, to: number) => ({
      ...ranFrom10To20(),
      faults: [
        { event: "STORE_DOWN" as const, at: from, pid: 9 },
        { event: "STORE_READY" as const, at: to, pid: 9 },
      ],
    });
    const found = [down(15, 25), down(2, 8)].map((evidence) => finds(evidence, "attemptsOutliveTheStore"));
    assert.deepEqual(found, [false, true]);
  });
});
