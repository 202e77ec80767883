import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature, Outcome } from "@mainspring/proto";
import { assignment, held, NODE, Stage, tokenOf, type WorkerEnd } from "./gateway.fixture.ts";

/**
 * A server that owns all shards, and a worker with two slots and a prefetch of one that answers questions about its
 * attempts.
 */
function stageWithAuthority(): { stage: Stage; worker: WorkerEnd } {
  const stage = new Stage();
  stage.own();
  const worker = stage.connect().hello({ features: Feature.AUTHORITY });
  stage.forgetReports();
  return { stage, worker };
}

const TOKEN = tokenOf(assignment(1));
/** Delivers the owner's answer to a report of the first attempt. */
const ownerSays = (stage: Stage, kind: "ACK" | "REFUSED") =>
  stage.bus.deliver(NODE, [{ kind, workerId: "worker-1", tokens: [TOKEN] }]);
const ask = (stage: Stage, from = NODE) =>
  stage.bus.deliver(from, [{ kind: "WHO", workerIds: ["worker-1"], askedAt: stage.runtime.now() }]);
const questions = (worker: WorkerEnd) => worker.received.flatMap(({ ask }) => (ask === undefined ? [] : [ask]));
const lastGranted = (stage: Stage) => stage.credits().at(-1)?.granted;

describe("an owner that asks what a worker holds", () => {
  it("hears the worker's own answer, under the epochs that the gateway knows", () => {
    const { stage, worker } = stageWithAuthority();
    ask(stage);
    assert.deepEqual(stage.reportsOf("WORKER_UP"), [], "the worker has not answered");
    const [question] = questions(worker);
    assert.deepEqual(question?.tokens, []);
    assert.deepEqual(question?.epochs.find(({ shard }) => shard === 7)?.epoch, 1n);
    worker.say({ holds: { nonce: question?.nonce ?? 0n, holds: [] } });
    assert.deepEqual(
      stage.reportsOf("WORKER_UP").map(({ isAnswer, holds }) => [isAnswer, holds]),
      [[true, []]],
    );
  });

  it("has the worker asked again where it has taken more over in between", () => {
    const { stage, worker } = stageWithAuthority();
    ask(stage);
    const [question] = questions(worker);
    stage.own(NODE, 2);
    stage.forgetReports();
    worker.say({ holds: { nonce: question?.nonce ?? 0n, holds: [] } });
    assert.deepEqual(
      stage.reportsOf("WORKER_UP").filter(({ isAnswer }) => isAnswer === true),
      [],
    );
    const second = questions(worker)[1];
    assert.equal(second?.epochs[0]?.epoch, 2n);
    worker.say({ holds: { nonce: second?.nonce ?? 0n, holds: [] } });
    assert.deepEqual(
      stage.reportsOf("WORKER_UP").map(({ term, isAnswer }) => [term, isAnswer]),
      [[2, true]],
    );
  });

  it("hears that the worker is absent where the gateway does not know it", () => {
    const stage = new Stage();
    stage.own();
    stage.forgetReports();
    ask(stage);
    assert.deepEqual(stage.reports(), [{ kind: "ABSENT", askedAt: stage.runtime.now(), workerIds: ["worker-1"] }]);
  });

  it("hears nothing while the worker's connection is broken: it may come back", () => {
    const { stage, worker } = stageWithAuthority();
    worker.breakOff();
    stage.forgetReports();
    ask(stage);
    assert.deepEqual(stage.reports(), []);
  });

  it("hears what the gateway believes of a worker of the release before", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello();
    stage.forgetReports();
    ask(stage);
    assert.deepEqual(questions(worker), []);
    assert.deepEqual(
      stage.reportsOf("WORKER_UP").map(({ isAnswer }) => isAnswer),
      [false],
    );
  });
});

describe("an attempt that has not begun", () => {
  it("is asked for after a while, and handed back where the worker does not have it", () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1), assignment(2));
    stage.runtime.advance(2_000);
    worker.start(...worker.assigns.slice(1));
    for (let second = 0; second < 4; second++) {
      worker.heartbeat();
      stage.runtime.advance(1_000);
    }
    const [question] = questions(worker);
    assert.deepEqual(
      question?.tokens.map(({ executionId }) => executionId),
      [assignment(1).executionId],
    );
    stage.forgetReports();
    worker.say({ holds: { nonce: question?.nonce ?? 0n, holds: [] } });
    const returned = stage.reportsOf("FINISHED").flatMap(({ results }) => results);
    assert.deepEqual(
      returned.map(({ executionId, state }) => [executionId, state]),
      [[assignment(1).executionId, "RELEASED"]],
    );
  });

  it("stays where the worker has it, and where it was sent after the question", () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1));
    ask(stage);
    const [question] = questions(worker);
    stage.assign(assignment(2));
    stage.forgetReports();
    worker.say({ holds: { nonce: question?.nonce ?? 0n, holds: [held(1)] } });
    assert.deepEqual(stage.reportsOf("FINISHED"), []);
  });

  it("settles by a new connection where the worker speaks and does not answer", () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1));
    for (let second = 0; second < 17 && worker.closedWith === null; second++) {
      worker.heartbeat();
      stage.runtime.advance(1_000);
    }
    assert.match(worker.closedWith?.detail ?? "", /does not say what it holds/);
  });

  it("is handed back by a worker that had settled it before, until the owner has heard", () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1));
    stage.forgetReports();
    worker.say({ finished: [{ token: TOKEN, outcome: Outcome.RELEASED }] });
    const released = () => stage.reportsOf("FINISHED").flatMap(({ results }) => results.map(({ state }) => state));
    assert.deepEqual(released(), ["RELEASED"]);
    stage.runtime.advance(3_000);
    assert.deepEqual(released(), ["RELEASED"], "the bus may have lost it");
    ownerSays(stage, "ACK");
    stage.runtime.advance(5_000);
    assert.deepEqual(released(), []);
  });
});

describe("a slot whose handler outlives its attempt", () => {
  /** A stage whose worker has started its first attempt. */
  const stageWithStarted = () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1));
    worker.start(...worker.assigns);
    stage.forgetReports();
    return { stage, worker };
  };

  it("is allocated again only when the worker says that the handler has ended", () => {
    const { stage, worker } = stageWithStarted();
    ownerSays(stage, "REFUSED");
    assert.equal(lastGranted(stage), undefined);
    worker.say({ ended: [TOKEN] });
    assert.equal(lastGranted(stage), 4);
  });

  it("is allocated again when the result crosses the refusal", () => {
    const { stage, worker } = stageWithStarted();
    ownerSays(stage, "REFUSED");
    worker.say({ finished: [{ token: TOKEN, outcome: Outcome.SUCCEEDED }] });
    assert.equal(lastGranted(stage), 4);
  });

  it("stays taken when the result of a handler that still runs crosses the refusal", () => {
    const { stage, worker } = stageWithStarted();
    ownerSays(stage, "REFUSED");
    worker.say({ finished: [{ token: TOKEN, outcome: Outcome.TIMED_OUT, stillRunning: true }] });
    assert.equal(lastGranted(stage), undefined);
    worker.say({ ended: [TOKEN] });
    assert.equal(lastGranted(stage), 4);
  });

  it("is allocated again likewise where the worker itself has forced the end", () => {
    const { stage, worker } = stageWithStarted();
    worker.say({ finished: [{ token: TOKEN, outcome: Outcome.TIMED_OUT, stillRunning: true }] });
    ownerSays(stage, "ACK");
    assert.equal(lastGranted(stage), undefined);
    worker.say({ ended: [TOKEN] });
    assert.equal(lastGranted(stage), 4);
  });

  it("is not allocated by another gateway to which the worker goes", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ features: Feature.AUTHORITY, holds: [{ token: TOKEN, over: true }] });
    assert.equal(lastGranted(stage), 2, "two of three");
    assert.deepEqual(stage.reportsOf("WORKER_UP"), [], "read before");
    worker.say({ ended: [TOKEN] });
    assert.equal(lastGranted(stage), 3);
  });

  it("stays taken over a connection that breaks before the worker has the acknowledgement", () => {
    const { stage, worker } = stageWithStarted();
    worker.say({ finished: [{ token: TOKEN, outcome: Outcome.TIMED_OUT, stillRunning: true }] });
    ownerSays(stage, "ACK");
    worker.breakOff();
    stage.forgetReports();
    const again = stage
      .connect()
      .hello({ features: Feature.AUTHORITY, holds: [{ token: TOKEN, finished: true, over: true }] });
    assert.equal(lastGranted(stage) ?? 3, 3, "two free places and the slot that was used");
    again.say({ ended: [TOKEN] });
    assert.equal(lastGranted(stage), 4);
  });

  it("keeps the places to wait empty where every slot is taken so: nothing there would ever begin", () => {
    const stage = new Stage();
    stage.own();
    const over = [1, 2].map((n) => ({ token: held(n).token, over: true }));
    stage.connect().hello({ features: Feature.AUTHORITY, holds: over });
    assert.equal(lastGranted(stage), undefined);
  });

  it("shows in the list of workers", () => {
    const stage = new Stage();
    stage.own();
    stage.connect().hello({ features: Feature.AUTHORITY, holds: [{ token: TOKEN, over: true }] });
    stage.bus.deliver(NODE, [{ kind: "LIST_WORKERS", request: "r" }]);
    const [answer] = stage.answers();
    assert.ok(answer?.kind === "WORKERS");
    assert.deepEqual(
      answer.workers.map(({ running, free, stuck }) => ({ running, free, stuck })),
      [{ running: 0, free: 1, stuck: 1 }],
    );
  });
});

describe("an attempt that another worker could run", () => {
  const takeBack = (stage: Stage, ...numbers: number[]) =>
    stage.bus.deliver(NODE, [
      { kind: "TAKE_BACK", workerId: "worker-1", tokens: numbers.map((n) => tokenOf(assignment(n))) },
    ]);
  const asked = (worker: WorkerEnd) =>
    worker.received.flatMap(({ takeBack }) => takeBack.map(({ executionId }) => executionId));

  it("is asked back from a worker without a free slot, at most once a second", () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1), assignment(2), assignment(3));
    worker.start(...worker.assigns.slice(0, 2));
    takeBack(stage, 1, 3);
    assert.deepEqual(asked(worker), [assignment(3).executionId], "what has started stays");
    takeBack(stage, 3);
    assert.equal(asked(worker).length, 1);
    stage.runtime.advance(1_000);
    takeBack(stage, 3);
    assert.equal(asked(worker).length, 2);
  });

  it("stays at a worker that is about to start it", () => {
    const { stage, worker } = stageWithAuthority();
    stage.assign(assignment(1), assignment(2));
    worker.start(...worker.assigns.slice(0, 1));
    takeBack(stage, 2);
    assert.deepEqual(asked(worker), []);
  });
});
