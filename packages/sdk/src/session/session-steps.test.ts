import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature, Outcome, StepKind } from "@mainspring/proto";
import { finished, SessionScene, SILENCE, step, stepsOf, token } from "../../test/session-scene.ts";
import { assign } from "../../test/tiny-gateway.ts";

describe("a session whose handlers record steps", () => {
  it("says in its hello that it can", () => {
    const scene = new SessionScene();
    scene.session.start();
    assert.equal((scene.sent()[0]?.hello?.features ?? 0) & Feature.STEPS, Feature.STEPS);
  });

  it("sends a record with its token, and passes its acknowledgement on once", () => {
    const scene = holding("a");
    scene.record(step("a", 1, { name: "pay", data: '"ü"' }), step("a", 2, { kind: "CHECKPOINT", name: "", data: "" }));
    const [first, second] = scene.sent().flatMap(({ steps }) => steps);
    assert.deepEqual(first?.token, { ...first?.token, ...token("a") });
    assert.deepEqual([first?.number, first?.name, first?.kind], [1, "pay", StepKind.RESULT]);
    assert.equal(Buffer.from(first?.data ?? []).toString(), '"ü"');
    assert.deepEqual([second?.number, second?.name, second?.kind, second?.data.length], [2, "", 2, 0]);
    scene.say({ stepAcks: [{ token: token("a"), number: 2 }] });
    assert.deepEqual(acksOf(scene), [{ executionId: "a", attempt: 1, number: 2 }]);
    const again = [
      { token: token("a"), number: 2 },
      { token: token("a", 2), number: 1 },
      { token: token("x"), number: 1 },
    ];
    scene.say({ stepAcks: [...again, { number: 1 }] });
    assert.equal(acksOf(scene).length, 1);
    scene.say({ resendResults: true });
    assert.deepEqual(stepsOf(scene.sent()), ["a:1/1"]);
  });

  it("sends a result behind the records of its attempt, in the same turn too", () => {
    const scene = holding("a");
    const started = [{ executionId: "a", attempt: 1, startedAtMs: 5 }];
    const logs = [{ executionId: "a", attempt: 1, atMs: 3, line: "hello" }];
    scene.session.report({ ...SILENCE, started, logs, steps: [step("a", 1)], finished: [finished("a")] });
    assert.deepEqual(contents(scene), ["started", "steps", "logs", "finished"]);
    scene.say({ resendResults: true });
    assert.deepEqual(contents(scene), ["steps", "finished"]);
    scene.say({ assigns: [assign("a")] });
    assert.deepEqual(contents(scene), ["steps", "finished"], "the answer to a repeated Assign");
  });

  it("names the signal that a step consumes, and the waits of an attempt that suspends", () => {
    const scene = holding("a");
    scene.record(step("a", 1, { signalId: "s-1" }));
    const waits = [
      { name: "ü", delayMs: 0.5, signals: [], isRecorded: true },
      { name: "b", delayMs: 86_400_000, signals: ["x", "y"], isRecorded: false },
    ];
    scene.finish("a", { outcome: "SUSPENDED", result: "", waits });
    const [record, end] = scene.sent();
    assert.equal(record?.steps[0]?.signalId, "s-1");
    assert.equal(end?.finished[0]?.outcome, Outcome.SUSPENDED);
    assert.deepEqual(
      end?.finished[0]?.waits.map(({ name, delayMs, signals, recorded }) => [name, delayMs, signals, recorded]),
      [
        ["ü", 1n, [], true],
        ["b", 86_400_000n, ["x", "y"], false],
      ],
    );
  });

  it("keeps records over lost connections, and sends them after the welcome", async () => {
    const scene = holding("a", "b", "c");
    scene.record(step("a", 1), step("a", 2), step("b", 1));
    scene.say({ stepAcks: [{ token: token("a"), number: 1 }] });
    scene.link.connection.break();
    scene.record(step("b", 2));
    await scene.runtime.advance(3_000);
    scene.record(step("a", 3), step("c", 1));
    scene.finish("c");
    assert.deepEqual(stepsOf(scene.sent()), []);
    scene.welcome();
    const sent = scene.sent();
    assert.deepEqual(stepsOf(sent), ["a:1/2", "a:1/3", "b:1/1", "b:1/2", "c:1/1"]);
    const isFirst = (one: "steps" | "finished") => sent.findIndex((message) => message[one].length > 0);
    assert.ok(isFirst("steps") < isFirst("finished"));
  });

  it("drops the records of an attempt that is settled, and takes none after its result", () => {
    const scene = holding("acknowledged", "refused", "finished");
    scene.record(step("acknowledged", 1), step("refused", 1));
    for (const id of ["acknowledged", "finished"]) scene.finish(id);
    scene.record(step("finished", 1));
    scene.say({ acks: [token("acknowledged")], refused: [token("refused")] });
    scene.record(step("refused", 2));
    scene.sent();
    scene.say({ resendResults: true });
    assert.deepEqual(stepsOf(scene.sent()), []);
  });

  it("passes an acknowledgement on where the same message settles the attempt", () => {
    const scene = holding("a");
    scene.record(step("a", 1));
    scene.say({ stepAcks: [{ token: token("a"), number: 1 }], refused: [token("a")] });
    assert.deepEqual(scene.orders.at(-1)?.stepAcks, [{ executionId: "a", attempt: 1, number: 1 }]);
    assert.deepEqual(scene.orders.at(-1)?.forget, [{ executionId: "a", attempt: 1 }]);
  });

  it("splits records into messages of a bounded size", () => {
    const scene = holding("a");
    const data = JSON.stringify("x".repeat(256 * 1024 - 2));
    scene.record(...Array.from({ length: 18 }, (_, index) => step("a", index + 1, { data })));
    const sizes = scene.sent().map(({ steps }) => steps.length);
    assert.deepEqual(sizes, [7, 7, 4]);
  });

  it("neither keeps nor sends records where its gateway is too old, and says which one that is", async () => {
    const scene = holding("a");
    assert.equal(scene.tooOld, null);
    scene.record(step("a", 1));
    await scene.reconnect();
    scene.welcome({ welcome: { heartbeatIntervalMs: 10_000, gateway: "old-gateway" } });
    assert.equal(scene.tooOld, "old-gateway");
    scene.record(step("a", 2));
    await scene.reconnect();
    scene.record(step("a", 3));
    scene.welcome();
    assert.equal(scene.tooOld, null);
    assert.deepEqual(stepsOf(scene.sent()), ["a:1/3"]);
  });
});

describe("a session whose gateway is too old to suspend attempts", () => {
  const waits = [{ name: "a", delayMs: 5, signals: [], isRecorded: false }];
  const ends = (scene: SessionScene) =>
    scene
      .sent()
      .flatMap((message) =>
        message.finished.map(({ outcome, error, waits }) => [Outcome[outcome], error?.name, waits.length]),
      );

  it("sends a failure in place of a suspension, also of one before it came to the gateway", async () => {
    const scene = holding("a", "b", "done");
    scene.finish("a", { outcome: "SUSPENDED", result: "", waits });
    assert.deepEqual(ends(scene), [["SUSPENDED", undefined, 1]]);
    await scene.reconnect();
    scene.welcome({ welcome: { heartbeatIntervalMs: 10_000, gateway: "old-gateway" } });
    assert.deepEqual(ends(scene), [["FAILED", "StepsUnsupported", 0]]);
    // The executor has decided before it heard of the gateway.
    scene.finish("b", { outcome: "SUSPENDED", result: "", waits });
    scene.finish("done");
    assert.deepEqual(ends(scene), [
      ["FAILED", "StepsUnsupported", 0],
      ["SUCCEEDED", undefined, 0],
    ]);
  });
});

describe("records of earlier attempts", () => {
  const recorded = (executionId: string, attempt: number, ...names: string[]) => ({
    token: token(executionId, attempt),
    steps: names.map((name) => ({ name, kind: StepKind.RESULT, data: Buffer.from(`"${name}"`) })),
  });
  const namesOf = (scene: SessionScene) =>
    scene.orders.flatMap(({ assigns }) => assigns.map((item) => item.recorded?.map(({ name }) => name)));

  it("come with the assignment, in however many parts and messages", () => {
    const scene = SessionScene.welcomed();
    scene.say({ recorded: [recorded("a", 2, "one"), recorded("b", 2, "of b")] });
    scene.say({ recorded: [recorded("a", 2, "two")] });
    const checkpoint = { token: token("a", 2), steps: [{ kind: StepKind.CHECKPOINT, data: Buffer.from("7") }] };
    scene.say({ recorded: [checkpoint], assigns: [assign("a", { token: token("a", 2) }), assign("c")] });
    const [a, c] = scene.orders.flatMap(({ assigns }) => assigns);
    assert.deepEqual(a?.recorded, [
      { name: "one", kind: "RESULT", data: '"one"' },
      { name: "two", kind: "RESULT", data: '"two"' },
      { name: "", kind: "CHECKPOINT", data: "7" },
    ]);
    assert.equal(c !== undefined && "recorded" in c, false);
  });

  it("are those of the token, on the same connection", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ recorded: [recorded("a", 2, "old"), recorded("b", 2, "old"), { steps: [] }] });
    scene.say({ assigns: [assign("a", { token: token("a", 3) })] });
    await scene.reconnect();
    scene.welcome({ assigns: [assign("b", { token: token("b", 2) })] });
    assert.deepEqual(namesOf(scene), [undefined, undefined]);
  });

  it("of a repeated Assign are not kept", () => {
    const scene = SessionScene.welcomed();
    for (let round = 0; round < 2; round++) {
      scene.say({ recorded: [recorded("a", 2, "one")], assigns: [assign("a", { token: token("a", 2) })] });
    }
    scene.say({ assigns: [assign("a", { token: token("a", 2) })] });
    assert.deepEqual(namesOf(scene), [["one"]]);
  });

  it("have the waits that earlier attempts suspended for, and signals", () => {
    const scene = SessionScene.welcomed();
    const steps = [
      { name: "sleeps", kind: StepKind.WAIT, remainingMs: 5_000n },
      { name: "slept", kind: StepKind.WAIT, remainingMs: -7n },
      { name: "approved", kind: StepKind.SIGNAL, data: Buffer.from('"ü"'), signalId: "s-1" },
    ];
    scene.say({ recorded: [{ token: token("a", 2), steps }], assigns: [assign("a", { token: token("a", 2) })] });
    assert.deepEqual(scene.orders.at(-1)?.assigns[0]?.recorded, [
      { name: "sleeps", kind: "WAIT", untilMs: 1_005_000, isOver: false },
      { name: "slept", kind: "WAIT", untilMs: 999_993, isOver: true },
      { name: "approved", kind: "SIGNAL", data: '"ü"', signalId: "s-1" },
    ]);
  });

  it("of a kind that this release does not know are left out", () => {
    const scene = SessionScene.welcomed();
    const steps = [
      { name: "sleeps", kind: 77 as StepKind },
      { name: "pays", kind: StepKind.RESULT },
    ];
    scene.say({ recorded: [{ token: token("a", 2), steps }], assigns: [assign("a", { token: token("a", 2) })] });
    assert.deepEqual(namesOf(scene), [["pays"]]);
  });
});

/** A session that holds attempts of these executions. */
function holding(...executionIds: string[]): SessionScene {
  const scene = SessionScene.welcomed();
  scene.say({ assigns: executionIds.map((id) => assign(id)) });
  scene.sent();
  return scene;
}

function acksOf(scene: SessionScene) {
  return scene.orders.flatMap(({ stepAcks = [] }) => stepAcks);
}

/** Contents of the messages since the last look, in their order. */
function contents(scene: SessionScene): string[] {
  const kinds = ["started", "steps", "progress", "logs", "finished", "ended"] as const;
  return scene.sent().flatMap((message) => kinds.filter((kind) => message[kind].length > 0));
}
