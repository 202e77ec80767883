import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CancelReason, Outcome, RetryAdvice } from "@mainspring/proto";
import { assignment, credit, executionId, held, NODE, Stage, stageWithWorker, tokenOf } from "./gateway.fixture.ts";

const OTHER = "node-2";

describe("the way of an attempt through the gateway", () => {
  it("introduces a worker, allocates its slots, and passes assignment, start, result and acknowledgement on", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello();
    assert.equal(worker.received[0]?.welcome?.gateway, NODE);
    assert.equal(worker.received[0]?.welcome?.heartbeatIntervalMs, 10_000);
    const [up, ...rest] = stage.reports();
    assert.deepEqual(up, {
      kind: "WORKER_UP",
      term: 1,
      worker: {
        workerId: "worker-1",
        name: "a worker",
        pool: "default",
        handlers: ["echo"],
        capabilities: [],
        slots: 2,
        prefetch: 1,
      },
      connection: 0,
      account: 1,
      holds: [],
      isAnswer: false,
    });
    assert.deepEqual(rest, [{ kind: "CREDITS", term: 1, roll: false, credits: [credit(3)] }]);

    stage.assign(assignment(1, { payload: Buffer.from('{"a":1}'), failures: 2 }), assignment(2));
    assert.equal(worker.received.length, 2, "what comes together leaves together");
    const [first, second] = worker.assigns;
    assert.deepEqual(Buffer.from(first?.payload ?? []).toString(), '{"a":1}');
    assert.equal(first?.failures, 2);
    assert.equal(second?.payload.length, 0);

    worker.start(...worker.assigns);
    const [started] = stage.reportsOf("STARTED");
    assert.deepEqual(
      started?.tokens.map((token) => [token.executionId, token.attempt, token.workerId]),
      [
        [executionId(1), 1, "worker-1"],
        [executionId(2), 1, "worker-1"],
      ],
    );

    worker.say({
      finished: [
        { token: tokenOf(assignment(1)), outcome: Outcome.SUCCEEDED, finishedAtMs: 7n, result: Buffer.from("[1]") },
      ],
    });
    const [finished, moreCredit] = stage.reports();
    assert.ok(finished?.kind === "FINISHED");
    assert.deepEqual(
      { ...finished.results[0], result: Buffer.from(finished.results[0]?.result ?? []).toString() },
      {
        ...tokenOf(assignment(1)),
        workerId: "worker-1",
        state: "SUCCEEDED",
        startedAt: null,
        finishedAt: 7,
        result: "[1]",
        error: null,
        advice: null,
      },
    );
    assert.deepEqual(moreCredit, { kind: "CREDITS", term: 1, roll: false, credits: [credit(4, { highest: 2 })] });

    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    stage.assign(assignment(3));
    const { acks, assigns } = worker.received.at(-1) ?? {};
    assert.deepEqual([acks?.[0]?.executionId, acks?.length, assigns?.length], [executionId(1), 1, 1], "in one message");
  });

  it("acknowledges within a second where nothing else goes to the worker, and at once what the last of a worker's work was", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1), assignment(2));
    worker.finish(...worker.assigns);
    const acked = () => worker.received.splice(0).flatMap(({ acks }) => acks.map((token) => token.executionId));
    const acknowledge = (n: number) =>
      stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(n))] }]);
    acknowledge(1);
    stage.runtime.advance(900);
    assert.deepEqual(acked(), []);
    stage.runtime.advance(200);
    assert.deepEqual(acked(), [executionId(1)]);
    worker.say({ draining: true });
    acknowledge(2);
    assert.deepEqual(acked(), [executionId(2)]);
  });

  it("acknowledges what waits when it closes", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.finish(...worker.assigns);
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    stage.gateway.close();
    assert.equal(worker.received.at(-1)?.acks.length, 1);
  });

  it("passes a cancellation on, and the refusal of an attempt that is not current, whose slot is free at once", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1), assignment(2), assignment(3));
    stage.forgetReports();
    const token = tokenOf(assignment(1));
    stage.bus.deliver(NODE, [
      { kind: "CANCEL", workerId: "worker-1", token, reason: "TIMED_OUT", graceMs: 500 },
      { kind: "REFUSED", workerId: "worker-1", tokens: [tokenOf(assignment(2))] },
    ]);
    const last = worker.received.at(-1);
    assert.deepEqual([last?.cancels[0]?.reason, last?.cancels[0]?.graceMs], [CancelReason.TIMED_OUT, 500]);
    assert.equal(last?.refused[0]?.executionId, executionId(2));
    assert.deepEqual(stage.credits(), [credit(4, { highest: 3 })]);
    assert.equal(stage.gateway.counters.refused, 1);
  });

  it("spreads large payloads over several messages", () => {
    const { stage, worker } = stageWithWorker();
    const payload = new Uint8Array(1024 * 1024);
    stage.assign(assignment(1, { payload }), assignment(2, { payload }), assignment(3, { payload }));
    assert.deepEqual(
      worker.received.slice(1).map((message) => message.assigns.length),
      [2, 1],
    );
  });

  it("makes a failure that is not tried again of a result that is too large", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    const [assign] = worker.assigns;
    const result = new Uint8Array(1024 * 1024 + 1);
    worker.say({ finished: [{ token: assign?.token ?? {}, outcome: Outcome.SUCCEEDED, result }] });
    const [finished] = stage.reportsOf("FINISHED");
    const [reports] = finished?.results ?? [];
    assert.equal(reports?.state, "FAILED");
    assert.equal(reports?.error?.name, "ResultTooLarge");
    assert.match(reports?.error?.message ?? "", /1048577 bytes; 1048576 are allowed/);
    assert.deepEqual(reports?.advice, { kind: "NEVER" });
    assert.equal(reports?.result, null);
  });

  it("cuts what a worker says of a failure to what a store keeps", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    const token = worker.assigns[0]?.token ?? {};
    const error = { name: "E".repeat(500), message: `a\u0000b${"😀".repeat(8_000)}`, stack: "" };
    const retryAtMs = 1_750_000_009_000n;
    worker.say({ finished: [{ token, outcome: Outcome.FAILED, error, advice: RetryAdvice.AT, retryAtMs }] });
    const reports = stage.reportsOf("FINISHED")[0]?.results[0];
    assert.equal(reports?.error?.name.length, 128);
    assert.equal(reports?.error?.message.length, 8 * 1024);
    assert.ok(reports?.error?.message.startsWith("a\ufffdb") && reports.error.message.isWellFormed());
    assert.equal(reports?.error !== null && "stack" in (reports?.error ?? {}), false);
    assert.deepEqual(reports?.advice, { kind: "AT", at: Number(retryAtMs) });
  });

  it("refuses reports of what cannot be an attempt itself, and lets owners judge what it does not know", () => {
    const { stage, worker } = stageWithWorker();
    stage.forgetReports();
    worker.say({ started: [{ token: { executionId: "nonsense", attempt: 1, shard: 1 } }] });
    assert.equal(worker.received.at(-1)?.refused[0]?.executionId, "nonsense");
    assert.deepEqual(stage.reportsOf("STARTED"), []);
    worker.say({ finished: [{ token: tokenOf(assignment(9)), outcome: Outcome.SUCCEEDED }] });
    assert.equal(stage.reportsOf("FINISHED")[0]?.results[0]?.executionId, executionId(9));
  });
});

describe("owners", () => {
  it("hears of workers that were there before it, and asks them for results that nobody acknowledged", () => {
    const stage = new Stage();
    const worker = stage.connect().hello({ holds: [held(1), { ...held(2), finished: true }] });
    worker.say({ finished: [{ token: tokenOf(assignment(2)), outcome: Outcome.SUCCEEDED }] });
    assert.deepEqual(stage.reports(), [], "nobody owns the shards, so nobody is told");
    stage.own();
    const [up, ...rest] = stage.reports();
    assert.ok(up?.kind === "WORKER_UP");
    assert.deepEqual(
      up.holds.map(({ executionId: id }) => id),
      [executionId(1), executionId(2)],
    );
    assert.deepEqual(rest, [{ kind: "CREDITS", term: 1, roll: false, credits: [credit(2)] }]);
    assert.equal(worker.received.at(-1)?.resendResults, true);
  });

  it("may repeat itself, and begins again only with a new term", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    stage.forgetReports();
    stage.own();
    assert.deepEqual(stage.reports(), []);
    stage.own(NODE, 2);
    const [up, ...rest] = stage.reports();
    assert.ok(up?.kind === "WORKER_UP" && up.term === 2 && up.account === 2 && up.holds.length === 1);
    assert.deepEqual(rest, [{ kind: "CREDITS", term: 2, roll: false, credits: [credit(2, { account: 2 })] }]);
    stage.own(NODE, 1);
    assert.deepEqual(stage.reports(), [], "what it said before comes late");
    stage.assign(assignment(2, { epoch: 2 }));
    assert.equal(worker.assigns.length, 1, "of the account before");
  });

  it("hears, when it has more shards, of workers with attempts of those, and gets a full sync", () => {
    const stage = new Stage();
    stage.own(NODE, 1, [1, 2]);
    stage.own(OTHER, 1, [3]);
    const [first, second] = [1, 2].map((n) => stage.connect().hello({ workerId: `worker-${n}`, holds: [held(n + 1)] }));
    second?.say({ finished: [{ ...held(3), outcome: 1 }] });
    stage.forgetReports();
    const shards = [
      { shard: 1, epoch: 1 },
      { shard: 2, epoch: 1 },
      { shard: 3, epoch: 2 },
    ];
    stage.bus.deliver(NODE, [{ kind: "OWNER", term: 2, life: 1, shards, demand: [] }]);
    const reports = stage.reports();
    assert.deepEqual(
      reports.flatMap((said) =>
        said.kind === "WORKER_UP" ? [[said.worker.workerId, said.term, said.holds.length]] : [],
      ),
      [["worker-2", 2, 1]],
    );
    assert.deepEqual(
      reports.flatMap((said) =>
        said.kind === "CREDITS" && said.roll ? said.credits.map((each) => each.workerId) : [],
      ),
      ["worker-1", "worker-2"],
    );
    assert.deepEqual(
      [first, second].map((worker) => worker?.received.at(-1)?.resendResults === true),
      [false, true],
      "the owner before may not have written its result down",
    );
  });

  it("gets nothing delivered that was assigned under an older epoch or for another gateway", () => {
    const { stage, worker } = stageWithWorker();
    stage.own(NODE, 2);
    stage.forgetReports();
    stage.assign(assignment(1, { epoch: 1 }), assignment(2, { epoch: 2, gateway: "node-0" }));
    assert.deepEqual(worker.assigns, []);
    assert.deepEqual(stage.reportsOf("FINISHED"), [], "nor an answer: another owner decides about it now");
    stage.assign(assignment(1, { epoch: 2, account: 2 }));
    assert.equal(worker.assigns.length, 1);
  });

  it("gets no assignment delivered of a shard that another owner has taken, whatever credit it names", () => {
    const { stage, worker } = stageWithWorker();
    stage.own(OTHER, 2, [1]);
    stage.assign(assignment(1), assignment(2));
    assert.deepEqual(
      worker.assigns.map(({ token }) => token?.shard),
      [2],
      "the account of the former owner goes on for its other shards",
    );
  });

  it("hears nothing any more and has no say once it was overtaken", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    stage.own(OTHER, 2);
    stage.forgetReports();
    stage.bus.deliver(NODE, [{ kind: "REFUSED", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    stage.own(NODE, 1);
    assert.deepEqual(worker.received.at(-1)?.refused, []);
    worker.finish(...worker.assigns);
    assert.deepEqual(stage.reports(NODE), []);
    assert.equal(stage.reportsOf("FINISHED", OTHER).length, 1);
  });

  it("gets its own attempts of a worker, and its own part of the free slots", () => {
    const stage = new Stage();
    stage.own(NODE, 1, [1]);
    stage.own(OTHER, 1, [2]);
    stage.connect().hello({ slots: 8, holds: [held(1), held(2)] });
    const [mine] = stage.bus.sent.filter((sent) => sent.node === NODE).map((sent) => sent.message);
    assert.ok(mine?.kind === "WORKER_UP");
    assert.deepEqual(
      mine.holds.map(({ shard }) => shard),
      [1],
    );
    const lent = [NODE, OTHER].map((node) => stage.credits(node).at(-1)?.granted ?? 0);
    assert.deepEqual(lent.sort(), [3, 4], "nine places, two of them taken");
  });

  it("is told each second how much it was allocated, because the bus may have lost it", () => {
    const { stage } = stageWithWorker();
    stage.forgetReports();
    stage.runtime.advance(1_000);
    assert.deepEqual(stage.reports(), [
      { kind: "CREDITS", term: 1, roll: true, credits: [credit(3, { free: 2, stuck: 0 })] },
    ]);
  });
});

describe("assignments that cannot be delivered", () => {
  it("are returned when the worker is away, when it drains, and when it does not read", () => {
    const { stage, worker } = stageWithWorker();
    stage.forgetReports();
    worker.congested = true;
    stage.assign(assignment(1));
    assert.deepEqual(released(stage), [executionId(1)]);
    worker.breakOff();
    stage.assign(assignment(2));
    assert.deepEqual(released(stage), [executionId(2)]);
    stage.connect().hello().say({ draining: true });
    stage.assign(assignment(3));
    assert.deepEqual(released(stage), [executionId(3)]);
    assert.deepEqual(worker.assigns, []);
    assert.equal(stage.gateway.counters.assignsReturned, 3);
  });

  it("are dropped where nobody knows the worker: it may have taken them to another gateway", () => {
    const { stage } = stageWithWorker();
    stage.forgetReports();
    stage.assign(assignment(1, { workerId: "nobody" }));
    assert.deepEqual(stage.reports(), []);
  });

  it("are dropped beyond what was allocated, so that a worker never holds more than it can", () => {
    const { stage, worker } = stageWithWorker();
    stage.forgetReports();
    stage.assign(...[1, 2, 3, 4].map((n) => assignment(n)));
    assert.equal(worker.assigns.length, 3);
    assert.deepEqual(stage.reports(), []);
  });

  it("are delivered once, however often they come; and never after they were returned", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1), assignment(1));
    stage.assign(assignment(1));
    assert.equal(worker.assigns.length, 1);
    worker.breakOff();
    stage.assign(assignment(2));
    stage.connect().hello({ holds: [held(1)] });
    stage.forgetReports();
    stage.assign(assignment(2), assignment(1));
    assert.deepEqual(
      stage.reportsOf("FINISHED"),
      [],
      "the second was answered, the answer to the first comes from the worker",
    );
  });
});

describe("leaving", () => {
  it("is known at once of a worker that has drained and holds nothing", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    worker.say({ draining: true });
    stage.forgetReports();
    worker.finish(...worker.assigns);
    assert.deepEqual(stage.credits(), [], "nothing is lent of a worker that drains");
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [tokenOf(assignment(1))] }]);
    worker.breakOff();
    assert.deepEqual(stage.reports(), [
      { kind: "WORKER_LOST", workerId: "worker-1", connection: 0, reason: "it left" },
    ]);
    assert.equal(stage.gateway.counters.workersLost, 0);
  });

  it("of the server: drained, it allocates nothing; closed, it tells its workers to come back", () => {
    const { stage, worker } = stageWithWorker();
    stage.assign(assignment(1));
    stage.gateway.drain(true);
    stage.forgetReports();
    worker.finish(...worker.assigns);
    assert.deepEqual(stage.credits(), []);
    stage.gateway.close();
    assert.deepEqual(worker.closedWith, { code: "UNAVAILABLE", detail: "the server is stopping" });
    assert.equal(stage.gateway.counters.workersConnected, 0);
  });
});

function released(stage: Stage): string[] {
  const results = stage.reportsOf("FINISHED").flatMap((message) => message.results);
  assert.ok(results.every((result) => result.state === "RELEASED"));
  return results.map((result) => result.executionId);
}
