import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feature, Outcome, PROTOCOL_VERSION, RetryAdvice } from "@mainspring/proto";
import { finished, resultsOf, SessionScene, SILENCE, token } from "../../test/session-scene.ts";
import { assign } from "../../test/tiny-gateway.ts";

const AUTO = Feature.AUTHORITY | Feature.POLICIES | Feature.AUTO_PREFETCH | Feature.STEPS;

describe("a session that begins", () => {
  it("says hello first, and who it is", () => {
    const scene = new SessionScene();
    scene.session.start();
    const [hello, ...rest] = scene.sent();
    assert.deepEqual(rest, []);
    assert.equal(hello?.hello?.protocolVersion, PROTOCOL_VERSION);
    assert.equal(hello?.hello?.workerId, "worker-1");
    assert.deepEqual(hello?.hello?.capabilities, ["gpu"]);
    assert.deepEqual([hello?.hello?.slots, hello?.hello?.prefetch], [4, 10]);
    assert.deepEqual(hello?.hello?.holds, []);
    assert.equal(scene.welcomes, 0);
    scene.welcome();
    assert.equal(scene.welcomes, 1);
  });

  it("says that its prefetch is automatic, and that what waits has room at a gateway which does not know that", async () => {
    const scene = new SessionScene("auto");
    scene.session.start();
    const hello = scene.sent()[0]?.hello;
    assert.deepEqual([hello?.features, hello?.prefetch], [AUTO, 0]);
    const assigns = ["a", "b", "c", "d", "e", "f"].map((id) => assign(id));
    scene.welcome({ assigns });
    scene.finish("a");
    await scene.reconnect();
    const again = scene.sent()[0]?.hello;
    assert.deepEqual([again?.slots, again?.prefetch, again?.holds.length], [4, 1, 6]);
  });

  it("beats at once, then as often as the welcome says, with what runs and how late the loop is", async () => {
    const scene = new SessionScene();
    scene.session.start();
    scene.sent();
    scene.lagMs = 42;
    scene.welcome({ assigns: [assign("a"), assign("b")] });
    assert.deepEqual(beats(scene), [{ running: 0, loopLagMs: 42 }]);
    scene.finish("a");
    scene.sent();
    await scene.runtime.advance(9_999);
    assert.deepEqual(beats(scene), []);
    await scene.runtime.advance(20_001);
    assert.deepEqual(beats(scene), [ONE_RUNS, ONE_RUNS, ONE_RUNS]);
  });

  it("passes a batch on as plain assignments, and a cancel with its reason", () => {
    const scene = SessionScene.welcomed();
    const payload = Buffer.from('{"n":"ü"}');
    scene.say({ assigns: [assign("a", { payload, failures: 2, scheduledAtMs: 77n, timeoutMs: 9 }), assign("b")] });
    const [orders] = scene.orders;
    assert.deepEqual(
      orders?.assigns.map(({ executionId, payload }) => [executionId, payload]),
      [
        ["a", '{"n":"ü"}'],
        ["b", ""],
      ],
    );
    const { failures, scheduledAtMs, timeoutMs, maxAttempts } = orders?.assigns[0] ?? {};
    assert.deepEqual({ failures, scheduledAtMs, timeoutMs, maxAttempts }, WANTED_NUMBERS);
    scene.say({ cancels: [{ token: token("a"), reason: 1 }, { token: token("b"), reason: 2 }, {}] });
    assert.deepEqual(scene.orders[1]?.cancels, [
      { executionId: "a", attempt: 1, cause: "REQUESTED" },
      { executionId: "b", attempt: 1, cause: "TIMED_OUT" },
    ]);
  });

  it("drops repeats: of what it holds, of what is settled, and of earlier attempts", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a", { token: token("a", 2) })] });
    scene.say({ assigns: [assign("a", { token: token("a", 2) }), assign("a", { token: token("a", 1) })] });
    scene.finish("a", { attempt: 2 });
    scene.say({ acks: [token("a", 2)] });
    scene.say({ assigns: [assign("a", { token: token("a", 2) })] });
    assert.deepEqual(taken(scene), ["a:2"]);
    scene.say({ assigns: [assign("a", { token: token("a", 3) })] });
    assert.deepEqual(taken(scene), ["a:2", "a:3"]);
  });

  it("takes the next attempt of what the same message settles", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    scene.finish("a", { outcome: "RELEASED", startedAtMs: 0 });
    scene.say({ acks: [token("a")], assigns: [assign("a", { token: token("a", 2) })] });
    assert.deepEqual(taken(scene), ["a:1", "a:2"]);
    scene.sent();
    scene.say({ resendResults: true });
    assert.deepEqual(resultsOf(scene.sent()), []);
  });
});

describe("a result", () => {
  it("says how it went, and what its error advises", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: ["ok", "never", "at"].map((id) => assign(id)) });
    const error = { name: "Boom", message: "no", stack: "Boom: no\n at" };
    scene.session.report({
      ...SILENCE,
      finished: [
        finished("ok"),
        finished("never", { outcome: "FAILED", result: "", error, advice: { kind: "NEVER" } }),
        finished("at", { outcome: "TIMED_OUT", result: "", error, advice: { kind: "AT", atMs: 5 } }),
      ],
    });
    const [ok, never, at] = scene.sent().flatMap((message) => message.finished);
    assert.equal(ok?.outcome, Outcome.SUCCEEDED);
    assert.deepEqual(ok?.token, { ...ok?.token, ...token("ok") });
    assert.equal(Buffer.from(ok?.result ?? []).toString(), '"done"');
    assert.deepEqual([ok?.startedAtMs, ok?.finishedAtMs, ok?.error], [1_000_000n, 1_000_005n, undefined]);
    assert.deepEqual([never?.outcome, never?.advice], [Outcome.FAILED, RetryAdvice.NEVER]);
    assert.deepEqual([never?.error?.name, never?.error?.message, never?.error?.stack], Object.values(error));
    assert.deepEqual([at?.outcome, at?.advice, at?.retryAtMs], [Outcome.TIMED_OUT, RetryAdvice.AT, 5n]);
  });

  it("is sent again on request until it is acknowledged", () => {
    const scene = holding("a", "b");
    scene.say({ resendResults: true });
    assert.deepEqual(resultsOf(scene.sent()), ["a:1", "b:1"]);
    scene.say({ acks: [token("a")] });
    scene.say({ resendResults: true });
    assert.deepEqual(resultsOf(scene.sent()), ["b:1"]);
    // An ACK for another attempt of the same execution.
    scene.say({ acks: [token("b", 2)], resendResults: true });
    assert.deepEqual(resultsOf(scene.sent()), ["b:1"]);
  });

  it("is forgotten when it is refused, and the executor is told", () => {
    const scene = holding("a");
    scene.say({ refused: [token("a")] });
    assert.deepEqual(scene.orders.at(-1)?.forget, [{ executionId: "a", attempt: 1 }]);
    scene.say({ resendResults: true });
    assert.deepEqual(resultsOf(scene.sent()), []);
  });

  it("is never sent where its attempt was refused while it ran", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    scene.say({ refused: [token("a")] });
    scene.start("a");
    assert.deepEqual(scene.sent(), []);
    scene.finish("a");
    const said = scene.sent();
    assert.deepEqual(resultsOf(said), []);
    assert.deepEqual(
      said.flatMap(({ ended }) => ended.map(({ executionId }) => executionId)),
      ["a"],
      "the gateway hears that the slot is free",
    );
  });

  it("goes out once, however often the executor says it", () => {
    const scene = holding("a");
    scene.finish("a");
    assert.deepEqual(resultsOf(scene.sent()), []);
  });

  it("is kept over a lost connection: the hello says so, and it follows the welcome", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: ["waits", "runs", "done"].map((id) => assign(id)) });
    scene.start("runs");
    const startedAtMs = BigInt(scene.runtime.now());
    scene.finish("done");
    await scene.reconnect();
    const [hello, ...rest] = scene.sent();
    assert.deepEqual(rest, []);
    assert.deepEqual(
      hello?.hello?.holds.map((held) => [held.token?.executionId, held.startedAtMs, held.finished]),
      [
        ["waits", 0n, false],
        ["runs", startedAtMs, false],
        ["done", 1_000_000n, true],
      ],
    );
    scene.welcome();
    assert.deepEqual(resultsOf(scene.sent()), ["done:1"]);
  });

  it("waits for the welcome where it comes up while there is none", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a"), assign("b")] });
    scene.link.connection.break();
    scene.finish("a");
    await scene.runtime.advance(3_000);
    scene.finish("b");
    assert.deepEqual(resultsOf(scene.sent()), []);
    scene.welcome();
    assert.deepEqual(resultsOf(scene.sent()), ["a:1", "b:1"]);
  });
});

describe("what a session says of running attempts", () => {
  it("is that they started, once", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    scene.start("a");
    assert.deepEqual(startsOf(scene), ["a"]);
    scene.say({ resendResults: true });
    assert.deepEqual(startsOf(scene), []);
  });

  it("is made up for where they started between the hello and the welcome", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("before"), assign("between")] });
    scene.link.connection.break();
    scene.start("before");
    await scene.runtime.advance(3_000);
    scene.start("between");
    scene.sent();
    scene.welcome();
    // The hello has named the other one.
    assert.deepEqual(startsOf(scene), ["between"]);
    await scene.reconnect();
    scene.welcome();
    assert.deepEqual(startsOf(scene), []);
  });

  it("is their progress and log, unless the connection is busy or nobody wants them", () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    const said = (executionId: string) => ({
      ...SILENCE,
      progress: [{ executionId, attempt: 1, fraction: 0.5, message: "half" }],
      logs: [{ executionId, attempt: 1, atMs: 3, line: "hello" }],
    });
    scene.session.report(said("a"));
    const messages = scene.sent();
    assert.equal(messages.flatMap((message) => message.progress)[0]?.message, "half");
    assert.equal(messages.flatMap((message) => message.logs)[0]?.line, "hello");
    scene.session.report(said("unknown"));
    scene.link.connection.congested = true;
    scene.session.report(said("a"));
    assert.deepEqual(scene.sent(), []);
  });

  it("has the last lines that were logged without a connection, before the results", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    scene.link.connection.break();
    const log = (line: string) => ({ executionId: "a", attempt: 1, atMs: 3, line });
    scene.session.report({ ...SILENCE, logs: Array.from({ length: 1_000 }, (_, n) => log(`line ${n}`)) });
    scene.session.report({ ...SILENCE, logs: [log("one more")] });
    scene.finish("a");
    await scene.reconnect();
    scene.sent();
    scene.welcome();
    const messages = scene.sent();
    const lines = messages.flatMap(({ logs }) => logs.map(({ line }) => line));
    assert.deepEqual([lines.length, lines[0], lines.at(-1)], [1_000, "line 1", "one more"]);
    const places = [
      messages.findIndex(({ logs }) => logs.length > 0),
      messages.findIndex(({ finished }) => finished.length > 0),
    ];
    assert.ok((places[0] ?? 0) >= 0 && (places[0] ?? 0) < (places[1] ?? 0), places.join());
    scene.welcome();
    assert.deepEqual(
      scene.sent().flatMap(({ logs }) => logs),
      [],
    );
  });
});

const ONE_RUNS = { running: 1, loopLagMs: 42 };
const WANTED_NUMBERS = { failures: 2, scheduledAtMs: 77, timeoutMs: 9, maxAttempts: 5 };

/** A session that holds finished attempts of these executions, none of them acknowledged. */
function holding(...executionIds: string[]): SessionScene {
  const scene = SessionScene.welcomed();
  scene.say({ assigns: executionIds.map((id) => assign(id)) });
  for (const id of executionIds) scene.finish(id);
  assert.deepEqual(
    resultsOf(scene.sent()),
    executionIds.map((id) => `${id}:1`),
  );
  return scene;
}

function beats(scene: SessionScene): { running: number; loopLagMs: number }[] {
  const heartbeats = scene.sent().flatMap((message) => message.heartbeat ?? []);
  return heartbeats.map(({ running, loopLagMs }) => ({ running, loopLagMs }));
}

function taken(scene: SessionScene): string[] {
  return scene.orders.flatMap(({ assigns }) => assigns.map(({ executionId, attempt }) => `${executionId}:${attempt}`));
}

function startsOf(scene: SessionScene): (string | undefined)[] {
  return scene.sent().flatMap((message) => message.started.map((started) => started.token?.executionId));
}
