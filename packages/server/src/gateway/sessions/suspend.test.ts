import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { STEP_MAX_BYTES, STEPS_MAX, STEPS_MAX_BYTES, WAIT_MAX_MS } from "@mainspring/contract/limits";
import { Feature, Outcome, RecordedStepsSchema, StepKind, type WaitSchema } from "@mainspring/proto";
import type { FinishedAttempt } from "../../ports/messages.ts";
import { assignment, NODE, Stage, tokenOf } from "../gateway.fixture.ts";

type WaitInit = MessageInitShape<typeof WaitSchema>;

const FEATURES = Feature.AUTHORITY | Feature.STEPS;
const token = tokenOf(assignment(1));
const json = (bytes: number) => new Uint8Array(Buffer.from(`"${"x".repeat(bytes - 2)}"`));

/** A worker that has started an attempt. @param recorded records that came with it */
function running(stage = new Stage(), recorded: MessageInitShape<typeof RecordedStepsSchema>["steps"] = []) {
  stage.own();
  const worker = stage.connect().hello({ features: FEATURES });
  const steps = toBinary(RecordedStepsSchema, create(RecordedStepsSchema, { steps: recorded }));
  stage.assign(assignment(1, recorded.length > 0 ? { steps } : {}));
  worker.start(...worker.assigns);
  stage.forgetReports();
  const suspend = (...waits: WaitInit[]) =>
    worker.say({ finished: [{ token, outcome: Outcome.SUSPENDED, finishedAtMs: 7n, waits }] });
  const step = (number: number, name: string, data: Uint8Array, more: object = {}) =>
    worker.say({ steps: [{ token, number, name, kind: StepKind.RESULT, data, ...more }] });
  return { stage, worker, suspend, step };
}

const resultsOf = (stage: Stage): FinishedAttempt[] => stage.reportsOf("FINISHED").flatMap(({ results }) => results);
const failureOf = (stage: Stage) => {
  const [failed] = resultsOf(stage);
  return [failed?.state, failed?.error?.name, failed?.advice];
};
const FOR_GOOD = { kind: "NEVER" };

describe("an attempt that suspends", () => {
  it("goes to the owner with its waits, and keeps its result until the owner has it", () => {
    const { stage, worker, suspend } = running();
    suspend({ name: "night", delayMs: 60_000n }, { name: "approval", signals: ["ok"], recorded: true });
    const [finished] = resultsOf(stage);
    assert.deepEqual(
      [finished?.state, finished?.error, finished?.finishedAt, finished?.waits],
      [
        "SUSPENDED",
        null,
        7,
        [
          { name: "night", delayMs: 60_000, signals: [], isRecorded: false },
          { name: "approval", delayMs: 0, signals: ["ok"], isRecorded: true },
        ],
      ],
    );
    stage.runtime.advance(6_000);
    assert.ok(
      worker.received.some(({ resendResults }) => resendResults),
      "nobody has acknowledged it",
    );
    stage.bus.deliver(NODE, [{ kind: "ACK", workerId: "worker-1", tokens: [token] }]);
    assert.equal(stage.gateway.statuses("worker-1")[0]?.free, 2);
  });

  for (const [what, waits] of [
    ["has no waits", []],
    ["waits without a name", [{ name: "" }]],
    ["has a name that is too long", [{ name: "x".repeat(257) }]],
    ["has a name with NUL", [{ name: "a\u0000" }]],
    ["has a name twice", [{ name: "a" }, { name: "a" }]],
    ["waits for too long", [{ name: "a", delayMs: BigInt(WAIT_MAX_MS) + 1n }]],
    ["waits for too many signals", [{ name: "a", signals: Array.from({ length: 101 }, (_, n) => `s${n}`) }]],
    ["waits for a signal without a name", [{ name: "a", signals: [""] }]],
    ["waits for a signal with half a surrogate pair", [{ name: "a", signals: ["\ud800"] }]],
    ["has too many waits", Array.from({ length: 1_001 }, (_, n) => ({ name: `w${n}` }))],
    [
      "has waits that no other node could read",
      Array.from({ length: 30 }, (_, n) => ({
        name: `w${n}`,
        signals: Array.from({ length: 100 }, (_, s) => `${s}`.padEnd(128, "x")),
      })),
    ],
  ] as const) {
    it(`fails for good where it ${what}`, () => {
      const { stage, suspend } = running();
      suspend(...(waits as readonly WaitInit[]));
      assert.deepEqual(failureOf(stage), ["FAILED", "InvalidWait", FOR_GOOD]);
    });
  }

  it("fails and is tried again while a server of the cluster does not know suspensions", () => {
    const { stage, suspend } = running(new Stage(undefined, undefined, undefined, () => false));
    suspend({ name: "night", delayMs: 60_000n });
    assert.deepEqual(failureOf(stage), ["FAILED", "StepsNotSupported", null]);
  });
});

describe("the records of an execution", () => {
  it("name the signal that a step consumes", () => {
    const { stage, step } = running();
    step(1, "approval", json(10), { signalId: "order-7" });
    const [report] = stage.reportsOf("STEPS");
    assert.equal(report?.steps[0]?.signalId, "order-7");
  });

  for (const [what, more] of [
    ["a checkpoint names a signal", { kind: StepKind.CHECKPOINT, name: "", signalId: "a" }],
    ["the id of a signal is too long", { signalId: "x".repeat(129) }],
    ["a worker records a wait itself", { kind: StepKind.WAIT }],
    ["a worker records a signal", { kind: StepKind.SIGNAL }],
  ] as const) {
    it(`fail their attempt for good where ${what}`, () => {
      const { stage, step } = running();
      step(1, "a", json(10), more);
      assert.deepEqual(failureOf(stage), ["FAILED", "InvalidStep", FOR_GOOD]);
    });
  }

  it("are as many as an execution may have, with those of earlier attempts, and repeats count once", () => {
    const before = Array.from({ length: STEPS_MAX - 2 }, (_, n) => ({ name: `step ${n}`, kind: StepKind.RESULT }));
    const wait = { name: "night", kind: StepKind.WAIT };
    const signal = { name: "ok", kind: StepKind.SIGNAL, signalId: "1" };
    const { stage, step, worker } = running(new Stage(), [...before, wait, signal]);
    step(1, "last", json(10));
    step(1, "last", json(10));
    step(2, "night", json(10));
    worker.say({ steps: [{ token, number: 3, kind: StepKind.CHECKPOINT, data: json(10) }] });
    assert.equal(resultsOf(stage).length, 0);
    step(4, "one more", json(10));
    assert.deepEqual(failureOf(stage), ["FAILED", "StepTooLarge", FOR_GOOD]);
  });

  it("count with the waits of a suspension", () => {
    const before = Array.from({ length: STEPS_MAX }, (_, n) => ({ name: `step ${n}`, kind: StepKind.RESULT }));
    const { stage, suspend } = running(new Stage(), before);
    suspend({ name: "night", delayMs: 60_000n });
    assert.deepEqual(failureOf(stage), ["FAILED", "StepTooLarge", FOR_GOOD]);
  });

  it("have no more bytes than an execution may have, beside its checkpoint", () => {
    const count = STEPS_MAX_BYTES / STEP_MAX_BYTES;
    const before = [{ name: "before", kind: StepKind.RESULT, data: json(STEP_MAX_BYTES) }];
    const { stage, step, worker } = running(new Stage(), before);
    for (let n = 1; n < count; n++) step(n, `step ${n}`, json(STEP_MAX_BYTES));
    worker.say({ steps: [{ token, number: 50, kind: StepKind.CHECKPOINT, data: json(STEP_MAX_BYTES) }] });
    step(1, "step 1", json(STEP_MAX_BYTES));
    assert.equal(resultsOf(stage).length, 0);
    step(51, "more", json(10));
    assert.deepEqual(failureOf(stage), ["FAILED", "StepTooLarge", FOR_GOOD]);
  });
});

describe("signals that come with an assignment", () => {
  const signal = { name: "ok", kind: StepKind.SIGNAL, signalId: "1", data: json(10) };
  const steps = toBinary(RecordedStepsSchema, create(RecordedStepsSchema, { steps: [signal] }));

  it("reach a worker that knows them, and do no harm to one that does not", () => {
    for (const features of [FEATURES, Feature.AUTHORITY]) {
      const stage = new Stage();
      stage.own();
      const worker = stage.connect().hello({ features });
      stage.assign(assignment(1, { steps }));
      assert.equal(worker.assigns.length, 1);
      const recorded = worker.received.flatMap((message) => message.recorded.flatMap((part) => part.steps));
      assert.deepEqual(
        recorded.map(({ signalId }) => signalId),
        features === FEATURES ? ["1"] : [],
      );
    }
  });
});
