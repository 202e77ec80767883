import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature, Outcome, type WorkerMessage } from "@mainspring/proto";
import { assignment, ExecutorScene, ref } from "../../test/executor-scene.ts";
import { SessionScene, token } from "../../test/session-scene.ts";
import { assign } from "../../test/tiny-gateway.ts";

const released = (messages: readonly WorkerMessage[]) =>
  messages.flatMap(({ finished }) =>
    finished.filter(({ outcome }) => outcome === Outcome.RELEASED).map(({ token }) => token?.executionId),
  );
const answers = (messages: readonly WorkerMessage[]) =>
  messages.flatMap(({ holds }) => (holds === undefined ? [] : [holds.holds.map(({ token }) => token?.executionId)]));
/** Gives the session these assignments. @returns executions that it hands back */
const handedBack = (scene: SessionScene, ...assigns: ReturnType<typeof assign>[]) => {
  scene.say({ assigns });
  return released(scene.sent());
};

describe("a session that answers for what it holds", () => {
  /** A session that has reported the result of the execution `a`, which its gateway has not acknowledged. */
  const finished = () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    scene.finish("a");
    return scene;
  };

  it("says so in its hello", () => {
    const scene = new SessionScene();
    scene.session.start();
    assert.equal((scene.sent()[0]?.hello?.features ?? 0) & Feature.AUTHORITY, Feature.AUTHORITY);
  });

  it("hands back an assignment that it settled before: its gateway believes that it is held", () => {
    const scene = finished();
    scene.say({ acks: [token("a")] });
    scene.sent();
    assert.deepEqual(handedBack(scene, assign("a")), ["a"]);
    assert.deepEqual(handedBack(scene, assign("a", { token: token("a", 2) })), [], "the next attempt is new");
  });

  it("hands back an assignment of an owner that was overtaken", () => {
    const scene = SessionScene.welcomed();
    scene.say({ ask: { nonce: 1n, tokens: [], epochs: [{ shard: 7, epoch: 5n }] } });
    scene.sent();
    assert.deepEqual(handedBack(scene, assign("a", { epoch: 4n })), ["a"]);
    assert.deepEqual(handedBack(scene, assign("a", { epoch: 5n })), []);
  });

  it("says its result again where it has one for a repeated assignment", () => {
    const scene = finished();
    scene.sent();
    scene.say({ assigns: [assign("a")] });
    assert.deepEqual(
      scene.sent().flatMap(({ finished }) => finished.map(({ outcome }) => outcome)),
      [Outcome.SUCCEEDED],
    );
  });

  it("answers with what came before the question, the same message included", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")], ask: { nonce: 1n, tokens: [], epochs: [] } });
    assert.deepEqual(answers(scene.sent()), [["a"]]);
    scene.say({ ask: { nonce: 2n, tokens: [token("a"), token("b")], epochs: [] } });
    assert.deepEqual(answers(scene.sent()), [["a"]]);
  });
});

describe("an attempt that is taken back", () => {
  it("ends as RELEASED where it waits, and says again that it runs where it does", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("runs", "waits");
    await scene.runtime.turn();
    scene.reports.length = 0;
    scene.apply({ takeBack: [ref("runs"), ref("waits"), ref("unknown")] });
    assert.deepEqual(await scene.outcomes(), ["waits RELEASED"]);
    assert.deepEqual(
      scene.reports.flatMap(({ started }) => started.map(({ executionId }) => executionId)),
      ["runs"],
    );
  });
});

describe("a handler that outlives its attempt", () => {
  const ended = (scene: ExecutorScene) =>
    scene.reports.flatMap(({ ended }) => ended.map(({ executionId }) => executionId));

  it("is named when it ends, whether the server or its timeout ended the attempt", async () => {
    const scene = new ExecutorScene(3);
    scene.apply({ assigns: [assignment("forced", { timeoutMs: 100, cancelGraceMs: 100 }), assignment("refused")] });
    await scene.runtime.advance(300);
    scene.apply({ forget: [ref("refused")] });
    assert.deepEqual(
      (await scene.finished()).map(({ executionId, stillRunning }) => [executionId, stillRunning]),
      [["forced", true]],
    );
    assert.deepEqual(ended(scene), []);
    scene.running("forced").return();
    scene.running("refused").throw(new Error("too late"));
    await scene.runtime.turn();
    assert.deepEqual(ended(scene).sort(), ["forced", "refused"]);
  });

  it("is named at once where it never began", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("runs", "waits");
    scene.apply({ forget: [ref("waits")] });
    await scene.runtime.turn();
    assert.deepEqual(ended(scene), ["waits"]);
  });

  it("is warned of once a minute, with its handler and execution", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("hung", { timeoutMs: 100, cancelGraceMs: 100 })] });
    for (let second = 0; second < 125; second++) {
      scene.guard.beat();
      await scene.runtime.advance(1_000);
    }
    assert.equal(scene.warnings.length, 2);
    assert.match(scene.warnings[0] ?? "", /handler "manual" still runs 60 s after attempt 1 of execution hung/);
    scene.running("hung").return();
    await scene.runtime.turn();
    await scene.runtime.advance(120_000);
    assert.equal(scene.warnings.length, 2);
  });
});

describe("a process that stood still", () => {
  /** A guarded executor with one slot and two assignments. */
  const guarded = () => {
    const scene = new ExecutorScene(1);
    scene.guard.begin();
    scene.assign("runs", "waits");
    return scene;
  };
  const onlyFirstRan = async (scene: ExecutorScene) =>
    assert.deepEqual((await scene.outcomes()).sort(), ["runs SUCCEEDED", "waits RELEASED"]);

  it("starts nothing that waited: others may have been given it", async () => {
    const scene = guarded();
    await scene.runtime.turn();
    scene.runtime.stall(6_000);
    // The handlers' event loop resumes before the session's thread has noticed the stall.
    scene.running("runs").return();
    await scene.runtime.turn();
    assert.deepEqual(scene.called, ["runs"]);
    await onlyFirstRan(scene);
    assert.equal(scene.guard.beat(), true);
    scene.assign("next");
    assert.deepEqual(scene.called, ["runs", "next"], "what comes after the stall begins");
  });

  it("starts nothing either where the session's thread noticed first", async () => {
    const scene = guarded();
    await scene.runtime.turn();
    scene.runtime.stall(6_000);
    scene.guard.beat();
    scene.running("runs").return();
    await onlyFirstRan(scene);
  });

  it("connects again before it takes what had come over its connection", async () => {
    const scene = SessionScene.welcomed();
    scene.runtime.stall(6_000);
    scene.say({ assigns: [assign("a")] });
    assert.deepEqual(
      scene.orders.flatMap(({ assigns }) => assigns),
      [],
    );
    assert.match(scene.warnings.join(), /stood still/);
    await scene.runtime.advance(3_000);
    assert.equal(scene.link.connections.length, 2);
  });

  it("starts nothing that waited either where it had no server for as long", async () => {
    const scene = guarded();
    await scene.runtime.advance(5_000);
    scene.running("runs").return();
    await onlyFirstRan(scene);
  });

  it("is not one whose handlers alone held up their loop", async () => {
    const scene = guarded();
    for (let second = 0; second < 10; second++) {
      scene.runtime.stall(1_000);
      scene.guard.beat();
    }
    scene.running("runs").return();
    await scene.runtime.turn();
    assert.deepEqual(scene.called, ["runs", "waits"]);
  });
});
