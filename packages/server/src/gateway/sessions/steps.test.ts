import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { STEP_MAX_BYTES } from "@mainspring/contract/limits";
import { Feature, RecordedStepsSchema, StepKind } from "@mainspring/proto";
import type { ReportedStep } from "../../ports/step-messages.ts";
import { assignment, NODE, Stage, type WorkerEnd } from "../gateway.fixture.ts";

const FEATURES = Feature.AUTHORITY | Feature.STEPS;
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

/** A worker that has started an attempt. */
function running(stage = new Stage()) {
  stage.own();
  const worker = stage.connect().hello({ features: FEATURES });
  stage.assign(assignment(1));
  worker.start(...worker.assigns);
  stage.forgetReports();
  const { shard, executionId, attempt } = assignment(1);
  return { stage, worker, token: { shard, executionId, attempt } };
}

const stepsOf = (stage: Stage): ReportedStep[] =>
  stage.reportsOf("STEPS").flatMap((report) => (report.kind === "STEPS" ? report.steps : []));

const failureOf = (stage: Stage) => {
  const reports = stage.reports();
  assert.ok(reports.every(({ kind }) => kind !== "STEPS"));
  return reports.flatMap((report) => (report.kind === "FINISHED" ? report.results : []))[0];
};

const refusedOf = (worker: WorkerEnd) => worker.received.flatMap(({ refused }) => refused);

describe("the record of a handler", () => {
  it("goes to the owner of the shard, and its acknowledgement at once to the worker", () => {
    const { stage, worker, token } = running();
    const steps = [
      { token, number: 1, name: "charge", kind: StepKind.RESULT, data: bytes("{}") },
      { token, number: 2, kind: StepKind.CHECKPOINT },
    ];
    worker.say({ steps });
    const of = { ...token, workerId: "worker-1" };
    assert.deepEqual(stepsOf(stage), [
      { ...of, number: 1, name: "charge", step: "RESULT", data: bytes("{}") },
      { ...of, number: 2, name: "", step: "CHECKPOINT", data: null },
    ]);
    stage.bus.deliver(NODE, [{ kind: "STEPPED", workerId: "worker-1", steps: [{ ...token, number: 1 }] }]);
    const acks = worker.received.flatMap(({ stepAcks }) => stepAcks);
    assert.deepEqual(
      acks.map(({ token: { executionId = "" } = {}, number }) => [executionId, number]),
      [[token.executionId, 1]],
    );
  });

  it("goes to the owner before the result of its attempt", () => {
    const { stage, worker, token } = running();
    worker.say({
      steps: [{ token, number: 1, name: "last", kind: StepKind.RESULT }],
      finished: [{ token, outcome: 1 }],
    });
    const kinds = stage.reports().map(({ kind }) => kind);
    assert.deepEqual(
      kinds.filter((kind) => kind === "STEPS" || kind === "FINISHED"),
      ["STEPS", "FINISHED"],
    );
  });

  it("is not acknowledged by another node than the owner of the shard", () => {
    const { stage, worker, token } = running();
    stage.bus.deliver("another", [{ kind: "STEPPED", workerId: "worker-1", steps: [{ ...token, number: 1 }] }]);
    assert.deepEqual(
      worker.received.flatMap(({ stepAcks }) => stepAcks),
      [],
    );
  });

  const asked = (worker: WorkerEnd) => worker.received.splice(0).filter(({ resendResults }) => resendResults).length;

  it("is asked for again when its shard has an owner, where it had none when the record came", () => {
    const { stage, worker, token } = running();
    stage.own(NODE, 2, []);
    worker.say({ steps: [{ token, number: 1, name: "charge", kind: StepKind.RESULT }] });
    assert.deepEqual([stepsOf(stage), asked(worker)], [[], 0]);
    stage.own("node-2", 3);
    assert.equal(asked(worker), 1);
  });

  it("is asked for again after a while, and no more once it is acknowledged or its attempt is refused", () => {
    for (const kind of ["STEPPED", "REFUSED"] as const) {
      const { stage, worker, token } = running();
      worker.say({ steps: [{ token, number: 1, name: "charge", kind: StepKind.RESULT }] });
      stage.runtime.advance(1_900);
      worker.heartbeat();
      assert.equal(asked(worker), 0);
      stage.runtime.advance(1_100);
      assert.equal(asked(worker), 1);
      const of = { workerId: "worker-1" };
      if (kind === "STEPPED") stage.bus.deliver(NODE, [{ kind, ...of, steps: [{ ...token, number: 1 }] }]);
      else stage.bus.deliver(NODE, [{ kind, ...of, tokens: [token] }]);
      for (let second = 0; second < 20; second++) {
        worker.heartbeat();
        stage.runtime.advance(1_000);
      }
      assert.equal(asked(worker), 0, kind);
    }
  });

  for (const [what, step, name] of [
    [
      "is too large",
      { name: "a", kind: StepKind.RESULT, data: bytes(`"${"x".repeat(STEP_MAX_BYTES)}"`) },
      "StepTooLarge",
    ],
    ["is not JSON", { name: "a", kind: StepKind.RESULT, data: bytes("{") }, "ResultInvalid"],
    ["has no name", { name: "", kind: StepKind.RESULT }, "InvalidStep"],
    ["has a name with NUL", { name: "a\u0000", kind: StepKind.RESULT }, "InvalidStep"],
    ["has half a surrogate pair in its name", { name: "\ud800", kind: StepKind.RESULT }, "InvalidStep"],
    ["has a name that is too long", { name: "x".repeat(257), kind: StepKind.RESULT }, "InvalidStep"],
    ["is of an unknown kind", { name: "a", kind: 99 }, "InvalidStep"],
  ] as const) {
    it(`fails its attempt for good where it ${what}, and the slot stays taken until the handler has ended`, () => {
      const { stage, worker, token } = running();
      worker.say({ steps: [{ token, number: 1, ...step, kind: step.kind as StepKind }] });
      const failure = failureOf(stage);
      assert.deepEqual([failure?.state, failure?.error?.name, failure?.advice], ["FAILED", name, { kind: "NEVER" }]);
      assert.equal(refusedOf(worker).length, 1, "the worker stops the handler");
      stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [token] }]);
      assert.equal(stage.gateway.statuses("worker-1")[0]?.stuck, 1);
      worker.say({ ended: [token] });
      assert.equal(stage.gateway.statuses("worker-1")[0]?.stuck, 0);
    });
  }

  it("fails its attempt until the owner has answered, because only the gateway knows of it", () => {
    const { stage, worker, token } = running();
    worker.say({ steps: [{ token, number: 1, name: "", kind: StepKind.RESULT }] });
    stage.forgetReports();
    stage.runtime.advance(4_000);
    assert.equal(failureOf(stage)?.error?.name, "InvalidStep");
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [token] }]);
    stage.forgetReports();
    stage.runtime.advance(4_000);
    assert.equal(failureOf(stage), undefined);
  });

  it("fails its attempt, which is tried again, while a server of the cluster does not know steps", () => {
    const { stage, worker, token } = running(new Stage(undefined, undefined, undefined, () => false));
    worker.say({ steps: [{ token, number: 1, name: "a", kind: StepKind.RESULT }] });
    const failure = failureOf(stage);
    assert.deepEqual([failure?.error?.name, failure?.advice], ["StepsNotSupported", null]);
  });
});

describe("records of earlier attempts", () => {
  const recorded = (...steps: { name: string; data: Uint8Array }[]) => {
    const items = steps.map((step) => ({ ...step, kind: StepKind.RESULT }));
    return toBinary(RecordedStepsSchema, create(RecordedStepsSchema, { steps: items }));
  };

  it("arrive before the assignment, in messages of a bounded size", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ features: FEATURES });
    const data = bytes(`"${"x".repeat(200_000)}"`);
    const names = Array.from({ length: 20 }, (_, index) => `step ${index}`);
    stage.assign({ ...assignment(1), attempt: 2, steps: recorded(...names.map((name) => ({ name, data }))) });
    const order = worker.received.flatMap(({ recorded: parts, assigns }) => [
      ...parts.map(({ steps }) => steps.map(({ name }) => name)),
      ...assigns.map(({ token }) => token?.attempt),
    ]);
    assert.deepEqual(order.slice(0, -1).flat(), names);
    assert.equal(order.at(-1), 2);
    const sizes = worker.received.map(({ recorded: parts }) =>
      parts.reduce((sum, { steps }) => sum + steps.reduce((all, step) => all + step.data.length, 0), 0),
    );
    assert.ok(Math.max(...sizes) <= 2 * 1024 * 1024);
  });

  it("fail an attempt whose worker would repeat the steps, because its SDK does not know them", () => {
    const stage = new Stage();
    stage.own();
    const worker = stage.connect().hello({ features: Feature.AUTHORITY });
    stage.forgetReports();
    stage.assign({ ...assignment(1), attempt: 2, steps: recorded({ name: "charge", data: bytes("1") }) });
    assert.deepEqual(worker.assigns, []);
    const failure = failureOf(stage);
    assert.deepEqual([failure?.state, failure?.error?.name, failure?.advice], ["FAILED", "StepsNotSupported", null]);
    assert.match(failure?.error?.message ?? "", /update every worker of pool default/);
    stage.forgetReports();
    stage.runtime.advance(4_000);
    assert.equal(failureOf(stage)?.error?.name, "StepsNotSupported", "until the owner has answered");
  });
});
