import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature, Outcome } from "@mainspring/proto";
import type { WorkerStatus } from "../../ports/messages.ts";
import { assignment, held, NODE, Stage, tokenOf } from "../gateway.fixture.ts";
import { EXECUTIONS_LISTED_MAX } from "../limits.ts";
import { HeldAttempts } from "./held.ts";
import { listedExecutions } from "./listed-executions.ts";

function detailOf(stage: Stage, workerId = "worker-1"): WorkerStatus | undefined {
  stage.forgetReports();
  stage.bus.deliver(NODE, [{ kind: "LIST_WORKERS", request: "r", workerId }]);
  const [answer] = stage.answers();
  assert.ok(answer?.kind === "WORKERS");
  return answer.workers[0];
}

const shown = (status: WorkerStatus | undefined) =>
  status?.executions?.map(({ executionId, handler, state, startedAt }) => [executionId, handler, state, startedAt]);

describe("the executions of a worker", () => {
  it("are those that wait, run or are stuck, with their handlers; a result that waits for its acknowledgement is not one", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ features: Feature.AUTHORITY });
    stage.connect().hello({ workerId: "worker-2" });
    const [first, second, third] = [assignment(1), assignment(2), assignment(3)] as const;
    stage.assign(first, second, third);
    worker.start(...worker.assigns.slice(0, 2));
    const at = stage.runtime.now();
    assert.deepEqual(shown(detailOf(stage)), [
      [first.executionId, first.handler, "RUNNING", at],
      [second.executionId, second.handler, "RUNNING", at],
      [third.executionId, third.handler, "WAITING", null],
    ]);
    worker.finish(...worker.assigns.slice(0, 1));
    worker.say({ finished: [{ token: tokenOf(second), outcome: Outcome.TIMED_OUT, stillRunning: true }] });
    const stuck = [second.executionId, second.handler, "STUCK", at];
    assert.deepEqual(shown(detailOf(stage))?.[0], stuck);
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(second)] }]);
    const settled = detailOf(stage);
    assert.deepEqual([settled?.executionsTotal, shown(settled)?.[0]], [2, stuck], "settled, and still there");
    worker.say({ ended: [tokenOf(second)] });
    assert.deepEqual(shown(detailOf(stage)), [[third.executionId, third.handler, "WAITING", null]]);
  });

  it("have no handler where the gateway knows them from the worker's hello alone", () => {
    const stage = new Stage();
    stage.own();
    stage.connect().hello({ features: Feature.AUTHORITY, holds: [{ token: held(1).token, over: true }] });
    assert.deepEqual(
      detailOf(stage)?.executions?.map(({ handler, state }) => [handler, state]),
      [[null, "STUCK"]],
    );
  });

  it("are asked for of one worker: others are not told, and nothing of a worker that nobody knows", () => {
    const stage = new Stage();
    stage.connect().hello();
    assert.equal(detailOf(stage, "worker-9"), undefined);
    stage.forgetReports();
    stage.bus.deliver(NODE, [{ kind: "LIST_WORKERS", request: "r" }]);
    const [all] = stage.answers();
    assert.ok(all?.kind === "WORKERS");
    assert.deepEqual([all.workers.length, all.workers[0]?.executions], [1, undefined]);
  });

  it("are none of a worker that was lost", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello();
    stage.assign(assignment(1));
    worker.breakOff();
    stage.runtime.advance(60_000);
    const { state, free, stuck, executions, executionsTotal } = detailOf(stage) ?? {};
    assert.deepEqual(
      { state, free, stuck, executions, executionsTotal },
      {
        ...{ state: "DEAD", free: 0, stuck: 0, executions: [], executionsTotal: 0 },
      },
    );
  });

  it("are a thousand at most, stuck ones before all others", () => {
    const attempts = new HeldAttempts();
    const add = (count: number, state: "ASSIGNED" | "STARTED" | "OVER") => {
      for (let n = 0; n < count; n++) {
        const token = { shard: 1, executionId: `${state}-${n}`, attempt: 1 };
        attempts.add({ token, state, startedAt: state === "ASSIGNED" ? null : 1 });
      }
    };
    add(1_500, "ASSIGNED");
    add(700, "STARTED");
    add(2, "OVER");
    const { executions, executionsTotal } = listedExecutions(attempts);
    const count = (wanted: string) => executions.filter(({ state }) => state === wanted).length;
    assert.deepEqual([executions.length, executionsTotal], [EXECUTIONS_LISTED_MAX, 2_202]);
    assert.deepEqual([count("STUCK"), count("RUNNING"), count("WAITING")], [2, 700, 298]);
    assert.equal(executions[0]?.state, "STUCK");
  });
});

describe("the load of a gateway", () => {
  it("has the stuck slots of each pool, and the connected workers of the release before", () => {
    const stage = new Stage();
    stage.own();
    const over = (n: number) => [{ token: held(n).token, over: true }];
    const worker = stage.connect().hello({ features: Feature.AUTHORITY, holds: over(1) });
    stage.connect().hello({ workerId: "worker-2", pool: "gpu", features: Feature.AUTHORITY, holds: over(2) });
    const older = stage.connect().hello({ workerId: "worker-3" });
    const load = stage.gateway.load();
    assert.deepEqual([...load.stuckSlots].sort(), [
      ["default", 1],
      ["gpu", 1],
    ]);
    assert.equal(load.workersWithoutAuthority, 1);
    worker.say({ ended: [held(1).token] });
    older.breakOff();
    const after = stage.gateway.load();
    assert.deepEqual([[...after.stuckSlots], after.workersWithoutAuthority], [[["gpu", 1]], 0]);
  });
});
