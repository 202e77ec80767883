import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, credit, executionId, held, stageWithWorker, tokenOf } from "../gateway.fixture.ts";

describe("a connection that breaks", () => {
  it("is made up for when the worker returns: what it holds goes on, what never arrived is handed back", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1), assignment(2));
    worker.breakOff();
    stage.forgetReports();
    stage.runtime.advance(4_000);
    const again = stage.connect().hello({ holds: [{ ...held(1), startedAtMs: 5n }] });
    const reports = stage.reports();
    const up = reports.find((message) => message.kind === "WORKER_UP");
    assert.deepEqual(up?.holds, [{ ...tokenOf(assignment(1)), startedAt: 5 }]);
    const started = reports.find((message) => message.kind === "STARTED");
    assert.deepEqual(
      started?.tokens.map((token) => token.startedAt),
      [5],
      "its word of the start was lost with the connection",
    );
    const finished = reports.find((message) => message.kind === "FINISHED");
    assert.deepEqual(
      finished?.results.map((result) => [result.executionId, result.state]),
      [[executionId(2), "RELEASED"]],
    );
    assert.deepEqual(reports.at(-1), { kind: "CREDITS", term: 1, roll: false, credits: [credit(4, { highest: 2 })] });
    stage.runtime.advance(20_000);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    assert.equal(again.closedWith, null);
  });

  it("loses no acknowledgement that was waiting: what was settled is not told to its owner again", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.finish(...worker.assigns);
    stage.bus.deliver("node-1", [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    worker.breakOff();
    stage.forgetReports();
    stage.runtime.advance(3_000);
    const again = stage.connect().hello({ holds: [{ ...held(1), finished: true }] });
    const up = stage.reports().find((message) => message.kind === "WORKER_UP");
    assert.deepEqual(up?.holds, []);
    stage.runtime.advance(1_100);
    const acked = again.received.flatMap(({ acks }) => acks.map((token) => token.executionId));
    assert.deepEqual(acked, [executionId(1)]);
  });

  it("is replaced by a newer one of the same worker", () => {
    const { stage, worker } = stageWithWorker();
    const again = stage.connect().hello();
    assert.equal(worker.closedWith?.code, "ABORTED");
    stage.assign(assignment(1));
    assert.deepEqual([worker.assigns.length, again.assigns.length], [0, 1]);
    worker.breakOff();
    worker.finish(...again.assigns);
    stage.runtime.advance(6_000);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    assert.equal(stage.gateway.counters.workersConnected, 1);
  });

  it("loses what a process ran that was replaced by another one of its name", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.start(...worker.assigns);
    stage.forgetReports();
    stage.connect().hello({ holds: [] });
    const [lost, up, ...rest] = stage.reports();
    assert.ok(lost?.kind === "WORKER_LOST" && lost.reason === "another process took its id");
    assert.ok(up?.kind === "WORKER_UP" && up.holds.length === 0);
    assert.deepEqual(rest, [{ kind: "CREDITS", term: 1, roll: false, credits: [credit(3, { account: 2 })] }]);
  });
});
