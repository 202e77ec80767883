import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, credit, held, NODE, Stage, stageWithWorker } from "../gateway.fixture.ts";

describe("liveness", () => {
  it("takes a connected worker for lost after 30 s of silence", () => {
    const { stage, worker } = stageWithWorker();
    for (const _ of [1, 2, 3, 4]) {
      stage.runtime.advance(10_000);
      worker.heartbeat();
    }
    stage.runtime.advance(29_500);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    stage.runtime.advance(500);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), [
      { kind: "WORKER_LOST", workerId: "worker-1", connection: 0, reason: "it was connected but silent for 30 s" },
    ]);
    assert.equal(worker.closedWith?.code, "ABORTED");
    assert.equal(stage.gateway.counters.workersLost, 1);
  });

  it("takes a worker for lost 5 s after its connection broke", () => {
    const { stage, worker } = stageWithWorker();
    worker.breakOff();
    stage.runtime.advance(4_999);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    stage.runtime.advance(1);
    const [lost] = stage.reportsOf("WORKER_LOST");
    assert.match(lost?.reason ?? "", /connection broke .* within 5 s/);
  });

  it("tells a new owner who was lost: the one before may not have lived to write it down", () => {
    const { stage, worker } = stageWithWorker();
    worker.breakOff();
    stage.runtime.advance(5_000);
    stage.forgetReports();
    stage.own("node-2", 2);
    const [lost] = stage.reportsOf("WORKER_LOST", "node-2");
    assert.equal(lost?.workerId, "worker-1");
    stage.connect().hello();
    stage.forgetReports();
    stage.own("node-3", 3);
    assert.deepEqual(stage.reportsOf("WORKER_LOST", "node-3"), [], "it is back");
  });

  it("gives everybody their whole time again when it was held up itself", () => {
    const { stage, worker } = stageWithWorker();
    const broken = stage.connect().hello({ workerId: "worker-2" });
    broken.breakOff();
    stage.runtime.advance(4_000);
    stage.runtime.stall(40_000);
    stage.runtime.advance(4_900);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    stage.runtime.advance(350);
    assert.deepEqual(
      stage.reportsOf("WORKER_LOST").map(({ workerId }) => workerId),
      ["worker-2"],
    );
    stage.runtime.advance(24_500);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    assert.equal(worker.closedWith, null);
  });

  it("tells an owner that came later nothing of a worker that is away, until it is back or lost", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.breakOff();
    stage.forgetReports();
    stage.own(NODE, 2);
    assert.deepEqual(stage.reports(), [], "it may be at another gateway, with more than is known of here");
    stage.connect().hello({ holds: [held(1)] });
    const [up] = stage.reportsOf("WORKER_UP");
    assert.deepEqual([up?.term, up?.holds.length], [2, 1]);
  });

  it("takes a lost worker back as a new one; its owner judges what it still holds", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.breakOff();
    stage.runtime.advance(6_000);
    stage.forgetReports();
    const { shard, executionId, attempt } = assignment(1);
    const zombie = stage.connect().hello({ holds: [{ token: { shard, executionId, attempt }, startedAtMs: 9n }] });
    const [up, ...rest] = stage.reports();
    assert.ok(up?.kind === "WORKER_UP");
    assert.deepEqual(up.holds, [{ shard, executionId, attempt, startedAt: 9 }]);
    assert.deepEqual(rest, [{ kind: "CREDITS", term: 1, roll: false, credits: [credit(2, { account: 2 })] }]);
    stage.bus.deliver(NODE, [{ kind: "REFUSED", workerId: "worker-1", tokens: up.holds }]);
    assert.equal(zombie.received.at(-1)?.refused[0]?.executionId, executionId);
  });

  it("lists workers, the lost ones for a while", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.start(...worker.assigns);
    worker.heartbeat();
    stage.connect().hello({ workerId: "worker-2" }).breakOff();
    const list = () => {
      stage.forgetReports();
      stage.bus.deliver("node-3", [{ kind: "LIST_WORKERS", request: "r" }]);
      const [answer] = stage.answers();
      assert.ok(answer?.kind === "WORKERS" && answer.request === "r");
      return answer.workers;
    };
    const [alive, away] = list();
    assert.deepEqual([alive?.state, alive?.running, alive?.loopLagMs], ["ALIVE", 1, 3]);
    assert.equal(away?.state, "DISCONNECTED");
    stage.runtime.advance(6_000);
    assert.deepEqual(
      list().map(({ workerId, state }) => [workerId, state]),
      [
        ["worker-1", "ALIVE"],
        ["worker-2", "DEAD"],
      ],
    );
    for (let beats = 0; beats < 30; beats++) {
      stage.runtime.advance(20_000);
      worker.heartbeat();
    }
    assert.deepEqual(
      list().map(({ workerId }) => workerId),
      ["worker-1"],
    );
  });

  it("takes the same worker back from among the dead", () => {
    const stage = new Stage();
    stage.connect().hello().breakOff();
    stage.runtime.advance(6_000);
    stage.connect().hello();
    stage.bus.deliver(NODE, [{ kind: "LIST_WORKERS", request: "r" }]);
    const [answer] = stage.answers();
    assert.ok(answer?.kind === "WORKERS");
    assert.deepEqual(
      answer.workers.map(({ state }) => state),
      ["ALIVE"],
    );
  });
});
