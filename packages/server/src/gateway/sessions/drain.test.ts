import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, NODE, type Stage, stageWithWorker } from "../gateway.fixture.ts";

const order = (stage: Stage, workerId = "worker-1") =>
  stage.bus.deliver("node-2", [{ kind: "DRAIN_WORKER", request: "r", workerId }]);

describe("draining a worker from outside", () => {
  it("tells the worker and the owners, and is answered with what the worker is then", () => {
    const { stage, worker } = stageWithWorker();
    stage.forgetReports();
    order(stage);
    assert.deepEqual(
      worker.received.map(({ drain }) => drain),
      [false, true],
    );
    const [answer] = stage.answers();
    assert.ok(answer?.kind === "WORKERS");
    assert.deepEqual(
      answer.workers.map(({ workerId, state }) => `${workerId} ${state}`),
      ["worker-1 DRAINING"],
    );
    assert.deepEqual(stage.reportsOf("WORKER_DRAINING"), [{ kind: "WORKER_DRAINING", workerId: "worker-1" }]);
  });

  it("hands back what arrives for it afterwards", () => {
    const { stage } = stageWithWorker();
    order(stage);
    stage.forgetReports();
    stage.assign(assignment(1));
    const [reports] = stage.reportsOf("FINISHED", NODE);
    assert.equal(reports?.results[0]?.state, "RELEASED");
  });

  it("tells a worker again that came back without knowing", () => {
    const { stage, worker } = stageWithWorker();
    worker.breakOff();
    order(stage);
    const again = stage.connect().hello();
    assert.equal(again.received.at(-1)?.drain, true);
  });

  it("answers with nobody where it does not know the worker", () => {
    const { stage } = stageWithWorker();
    order(stage, "worker-9");
    assert.deepEqual(stage.answers(), [{ kind: "WORKERS", request: "r", workers: [] }]);
  });
});
