import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature } from "@mainspring/proto";
import { assignment, NODE, Stage, type WorkerEnd } from "./gateway.fixture.ts";

const FEATURES = Feature.AUTHORITY | Feature.AUTO_PREFETCH;

/** A server that owns all shards, and a worker with two slots and automatic prefetch. */
function stageWithAuto(): { stage: Stage; worker: WorkerEnd } {
  const stage = new Stage();
  stage.own();
  const worker = stage.connect().hello({ features: FEATURES, prefetch: 7 });
  return { stage, worker };
}

/** Runs quick attempts, one each millisecond. @returns number of the last assignment */
function runQuick(stage: Stage, worker: WorkerEnd, count = 60): number {
  for (let n = 1; n <= count; n++) {
    stage.assign(assignment(n));
    worker.finish(...worker.assigns.slice(-1));
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [assignment(n)] }]);
    stage.runtime.advance(1);
  }
  return count;
}

const lastCredit = (stage: Stage) => stage.credits().at(-1);
const askedBack = (worker: WorkerEnd) =>
  worker.received.flatMap(({ takeBack }) => takeBack.map(({ executionId }) => executionId));

describe("a worker with automatic prefetch", () => {
  it("gets credit for its slots at first, whatever its hello says for older gateways", () => {
    const { stage } = stageWithAuto();
    assert.equal(lastCredit(stage)?.granted, 2);
    const [status] = stage.gateway.statuses();
    assert.deepEqual([status?.prefetch, status?.autoPrefetch], [0, true]);
  });

  it("gets more while it runs quick handlers, and owners hear how much lies beyond its slots", () => {
    const { stage, worker } = stageWithAuto();
    const used = runQuick(stage, worker);
    const credit = lastCredit(stage);
    assert.ok(credit?.ahead !== undefined && credit.ahead >= 40 && credit.ahead <= 55, String(credit?.ahead));
    assert.equal(credit.granted, used + 2 + credit.ahead);
    assert.equal(stage.gateway.statuses()[0]?.prefetch, credit.ahead);
  });

  it("gives unused credit beyond its slots back when quick work ends", () => {
    const { stage, worker } = stageWithAuto();
    runQuick(stage, worker);
    stage.forgetReports();
    stage.runtime.advance(500);
    assert.deepEqual(stage.reportsOf("RECALL")[0]?.workers, [{ workerId: "worker-1", account: 1 }]);
  });

  it("is asked for attempts back that have waited for a second while every slot is taken", () => {
    const { stage, worker } = stageWithAuto();
    const used = runQuick(stage, worker);
    const slow = [1, 2, 3, 4].map((n) => assignment(used + n));
    stage.assign(...slow);
    worker.start(...worker.assigns.slice(-4, -2));
    stage.runtime.advance(900);
    assert.deepEqual(askedBack(worker), []);
    worker.heartbeat();
    stage.runtime.advance(400);
    assert.deepEqual(
      askedBack(worker),
      slow.slice(2).map(({ executionId }) => executionId),
    );
    assert.equal(stage.gateway.statuses()[0]?.prefetch, 0);
  });

  it("keeps attempts that wait for less, or beside a free slot", () => {
    const { stage, worker } = stageWithAuto();
    const used = runQuick(stage, worker);
    stage.assign(assignment(used + 1), assignment(used + 2));
    worker.start(...worker.assigns.slice(-2, -1));
    stage.runtime.advance(3_000);
    assert.deepEqual(askedBack(worker), []);
  });
});

describe("a worker with a fixed prefetch", () => {
  it("keeps what it asked for, however slow its handlers are", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ features: Feature.AUTHORITY, prefetch: 1 });
    const credit = lastCredit(stage);
    assert.deepEqual([credit?.granted, credit?.ahead], [3, undefined]);
    stage.assign(assignment(1), assignment(2), assignment(3));
    worker.start(...worker.assigns.slice(0, 2));
    stage.runtime.advance(4_000);
    assert.deepEqual(askedBack(worker), []);
  });
});
