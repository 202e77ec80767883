import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, held, Stage, tokenOf } from "../gateway.fixture.ts";

const OTHER = "node-2";

describe("a worker that moves to another gateway", () => {
  it("goes on there with what it holds, and is lost here as of its connection before", () => {
    const { here, there } = twoGateways();
    const worker = here.connect().hello({ connection: 1 });
    here.assign(assignment(1));
    worker.start(...worker.assigns);
    worker.breakOff();
    here.forgetReports();
    const moved = there.connect().hello({ connection: 2, holds: [{ ...held(1), startedAtMs: 5n }] });
    const [up] = there.reportsOf("WORKER_UP");
    assert.deepEqual([up?.connection, up?.holds.length], [2, 1]);
    here.runtime.advance(5_000);
    const [lost, ...rest] = here.reportsOf("WORKER_LOST");
    assert.deepEqual([lost?.connection, rest], [1, []], "so that owners that know of the second one pay no heed");
    here.assign(assignment(1), assignment(2));
    assert.deepEqual(here.reportsOf("FINISHED"), [], "what comes late to the old gateway is not answered");
    moved.say({ finished: [{ token: tokenOf(assignment(1)), outcome: 1 }] });
    assert.equal(there.reportsOf("FINISHED").length, 1);
    assert.deepEqual(there.reportsOf("WORKER_LOST"), []);
  });

  it("may come back and hold what nobody knew of here, and no more what was settled elsewhere", () => {
    const { here, there } = twoGateways();
    const worker = here.connect().hello({ connection: 1 });
    here.assign(assignment(1));
    worker.start(...worker.assigns);
    worker.breakOff();
    there
      .connect()
      .hello({ connection: 2, holds: [held(1)] })
      .breakOff();
    here.forgetReports();
    const back = here.connect().hello({ connection: 3, holds: [held(2)] });
    const reports = here.reports();
    assert.deepEqual(
      reports.map(({ kind }) => kind),
      ["WORKER_UP", "CREDITS"],
    );
    const [up] = reports;
    assert.ok(up?.kind === "WORKER_UP" && up.connection === 3);
    assert.equal(up.account, 2, "its owners may count from the start, having heard of it from another gateway");
    assert.deepEqual(up.holds, [{ ...tokenOf(assignment(2)), startedAt: null }]);
    assert.equal(back.closedWith, null);
  });

  it("is not taken back by a connection that it made before another one", () => {
    const { here } = twoGateways();
    const worker = here.connect().hello({ connection: 3 });
    const late = here.connect().hello({ connection: 2 });
    assert.deepEqual([late.closedWith?.code, worker.closedWith], ["ABORTED", null]);
    here.assign(assignment(1));
    assert.equal(worker.assigns.length, 1);
    worker.breakOff();
    here.connect().hello({ connection: 2 });
    assert.equal(here.gateway.counters.workersConnected, 0, "nor when that one is broken");
    here.runtime.advance(5_000);
    here.connect().hello({ connection: 1 });
    assert.equal(here.gateway.counters.workersConnected, 1, "when it is lost, whoever has its id is a new one");
  });

  it("is another process where it counts its connections again", () => {
    const { here } = twoGateways();
    here.connect().hello({ connection: 1 });
    here.forgetReports();
    here.connect().hello({ connection: 1 });
    const [lost, up] = here.reports();
    assert.ok(lost?.kind === "WORKER_LOST" && lost.reason === "another process took its id");
    assert.ok(up?.kind === "WORKER_UP" && up.account === 2);
  });
});

describe("a gateway that is drained", () => {
  const BEHIND_ALL = 5_000;

  it("sends its workers to others, a few at a time, and allocates nothing meanwhile", () => {
    const { here } = twoGateways();
    const workers = Array.from({ length: 24 }, (_, i) => here.connect().hello({ workerId: `w${i}`, connection: 1 }));
    const left = () => workers.filter(({ closedWith }) => closedWith !== null).length;
    here.gateway.drain(true);
    here.runtime.advance(250);
    assert.equal(left(), 3);
    here.runtime.advance(BEHIND_ALL);
    assert.equal(left(), 24);
    assert.deepEqual(new Set(workers.map(({ closedWith }) => closedWith?.code)), new Set(["UNAVAILABLE"]));
    assert.equal(here.gateway.counters.workersLost, 0, "who was sent away is not lost");
  });

  it("says of a worker with work that it is gone from here only when it had time to arrive elsewhere", () => {
    const { here } = twoGateways();
    here.connect().hello({ connection: 1, holds: [held(1)] });
    here.gateway.drain(true);
    here.forgetReports();
    here.runtime.advance(4_000);
    assert.deepEqual(here.reportsOf("WORKER_LOST"), []);
    here.runtime.advance(2_000);
    assert.equal(here.reportsOf("WORKER_LOST")[0]?.connection, 1);
    assert.equal(here.gateway.counters.workersLost, 0);
  });

  it("lets a worker finish that knows no other gateway and comes back with what it runs", () => {
    const { here } = twoGateways();
    here.connect().hello({ connection: 1, holds: [held(1)] });
    here.gateway.drain(true);
    here.runtime.advance(1_000);
    const back = here.connect().hello({ connection: 2, holds: [held(1)] });
    here.forgetReports();
    back.say({ finished: [{ token: tokenOf(assignment(1)), outcome: 1 }] });
    assert.equal(here.reportsOf("FINISHED").length, 1);
    assert.deepEqual(here.credits(), [], "nothing new");
    here.bus.deliver("node-1", [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    const refusal = () => back.closedWith?.code;
    assert.equal(refusal(), undefined);
    here.runtime.advance(10_000);
    assert.equal(refusal(), "UNAVAILABLE", "then it may look for another one");
  });

  it("keeps and allocates what it has when that is taken back", () => {
    const { here } = twoGateways();
    here.gateway.drain(true);
    here.gateway.drain(false);
    const worker = here.connect().hello({ connection: 1 });
    here.runtime.advance(BEHIND_ALL);
    assert.equal(worker.closedWith, null);
    assert.notDeepEqual(here.credits(), []);
  });
});

/** Two gateways with the same owner and the same clock. */
function twoGateways(): { here: Stage; there: Stage } {
  const here = new Stage();
  const there = new Stage(OTHER, here.runtime);
  for (const stage of [here, there]) stage.own();
  return { here, there };
}
