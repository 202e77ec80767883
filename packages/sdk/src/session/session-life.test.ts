import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { finished, resultsOf, SessionScene, SILENCE, token } from "../../test/session-scene.ts";
import { assign } from "../../test/tiny-gateway.ts";

const FAILED_PRECONDITION = 9;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

describe("a session whose connection breaks", () => {
  it("tries again after a time that grows to three seconds at most", async () => {
    const scene = new SessionScene();
    scene.runtime.dice = 0.999_999;
    scene.session.start();
    const waitsMs: number[] = [];
    for (let failure = 1; failure <= 8; failure++) {
      scene.link.connection.break({ code: UNAVAILABLE, message: "nobody listens" });
      waitsMs.push(await untilConnected(scene));
    }
    assert.deepEqual(waitsMs, [99, 199, 399, 799, 1_599, 2_999, 2_999, 2_999]);
    assert.match(scene.warnings[0] ?? "", /not connected to the server: nobody listens/);
    assert.deepEqual(scene.goodbyes, []);
  });

  it("begins anew with short waits once a connection has lived for a while", async () => {
    const scene = new SessionScene();
    scene.runtime.dice = 0.999_999;
    scene.session.start();
    for (let failure = 1; failure <= 5; failure++) {
      scene.link.connection.break();
      await untilConnected(scene);
    }
    scene.welcome();
    await scene.runtime.advance(5_000);
    scene.link.connection.break();
    assert.equal(await untilConnected(scene), 99);
  });

  it("gives a connection up that brings no welcome within four seconds", async () => {
    const scene = new SessionScene();
    scene.session.start();
    const silent = scene.link.connection;
    silent.echoesClose = true;
    await scene.runtime.advance(3_999);
    assert.equal(silent.isClosed, false);
    await scene.runtime.advance(1);
    assert.equal(silent.isClosed, true);
    await scene.runtime.advance(3_000);
    // Only one new connection is opened, although the link reported the close as well.
    assert.equal(scene.link.connections.length, 2);
    assert.equal(scene.warnings.length, 1);
  });

  it("tells why it is not connected once a minute, and at once after it was connected", async () => {
    const scene = SessionScene.welcomed();
    const breaks = async () => {
      scene.link.connection.break();
      await scene.runtime.advance(3_000);
    };
    for (let times = 0; times < 19; times++) await breaks();
    assert.equal(scene.warnings.length, 1);
    await breaks();
    await breaks();
    assert.equal(scene.warnings.length, 2);
    scene.welcome();
    await breaks();
    assert.equal(scene.warnings.length, 3);
  });

  it("hears nothing more from the old connection, and says nothing more to it", async () => {
    const scene = SessionScene.welcomed();
    const [old] = scene.link.connections;
    await scene.reconnect();
    old?.say({ assigns: [assign("late")] });
    old?.break();
    await scene.runtime.advance(900);
    assert.deepEqual(scene.orders, []);
    assert.equal(scene.link.connections.length, 2);
    assert.deepEqual(old?.take(), []);
  });

  it("counts its connections, so that of two gateways one knows that the worker has moved on", async () => {
    const scene = SessionScene.welcomed();
    await scene.reconnect();
    await scene.reconnect();
    assert.equal(scene.sent()[0]?.hello?.connection, 3);
  });

  it("does not beat while it is not welcome", async () => {
    const scene = SessionScene.welcomed();
    await scene.reconnect();
    scene.sent();
    await scene.runtime.advance(900);
    assert.deepEqual(scene.sent(), []);
  });
});

describe("a session that is refused", () => {
  it("leaves with the server's reason where it was never taken", async () => {
    const scene = new SessionScene();
    scene.session.start();
    scene.link.connection.break({ code: FAILED_PRECONDITION, message: "protocol version 2 is not known" });
    assert.equal(scene.goodbyes[0]?.code, "WORKER_REFUSED");
    assert.match(scene.goodbyes[0]?.message ?? "", /protocol version 2 is not known/);
    await scene.runtime.advance(60_000);
    assert.equal(scene.link.connections.length, 1);
  });

  it("gives up ten seconds after servers began to refuse the key of a worker that they had taken", async () => {
    const scene = SessionScene.welcomed();
    const refuse = () => scene.link.connection.break({ code: UNAUTHENTICATED, message: "the API key was revoked" });
    const beganMs = scene.runtime.monotonicMs();
    refuse();
    while (scene.goodbyes.length === 0 && scene.runtime.monotonicMs() - beganMs < 60_000) {
      await untilConnected(scene);
      refuse();
    }
    const tookMs = scene.runtime.monotonicMs() - beganMs;
    assert.ok(tookMs >= 10_000 && tookMs < 14_000, `${tookMs} ms`);
    assert.match(scene.goodbyes[0]?.message ?? "", /refused this worker: the API key was revoked/);
  });

  it("keeps trying with another key, which a server takes", async () => {
    const scene = SessionScene.welcomed();
    for (let times = 0; times < 3; times++) {
      scene.link.connection.break({ code: UNAUTHENTICATED, message: "the API key has expired" });
      await untilConnected(scene);
      await scene.runtime.advance(6_000);
      scene.welcome();
    }
    assert.deepEqual(scene.goodbyes, []);
  });

  it("goes on trying where it was taken before: the refusal may pass", async () => {
    const scene = SessionScene.welcomed();
    scene.link.connection.break({ code: FAILED_PRECONDITION, message: "one of your name is connected" });
    await scene.runtime.advance(3_000);
    assert.equal(scene.link.connections.length, 2);
    assert.deepEqual(scene.goodbyes, []);
  });
});

describe("a session that drains", () => {
  it("says so, waits for the last acknowledgement and for late Assigns, and leaves once", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("runs")] });
    scene.start("runs");
    scene.sent();
    scene.session.drain(null);
    scene.session.drain(null);
    assert.deepEqual(
      scene.sent().map((message) => message.draining),
      [true],
    );
    assert.deepEqual(
      scene.orders.map((orders) => orders.drain),
      [false, true],
    );
    // The Assign was on its way. It goes to the executor, which hands it back.
    scene.say({ assigns: [assign("late")] });
    scene.session.report({ ...SILENCE, finished: [finished("late", { outcome: "RELEASED" }), finished("runs")] });
    scene.say({ acks: [token("late")] });
    await scene.runtime.advance(60_000);
    assert.deepEqual(scene.goodbyes, []);
    scene.say({ acks: [token("runs")] });
    await scene.runtime.advance(199);
    assert.deepEqual(scene.goodbyes, []);
    await scene.runtime.advance(1);
    assert.deepEqual(scene.goodbyes, [null]);
    assert.equal(scene.link.connection.isClosed, true);
    assert.equal(scene.orders.at(-1)?.abandon, true);
  });

  it("does so too where the server wants it", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ drain: true });
    assert.equal(scene.orders[0]?.drain, true);
    assert.equal(scene.sent()[0]?.draining, true);
    await scene.runtime.advance(200);
    assert.deepEqual(scene.goodbyes, [null]);
  });

  it("stays where an Assign came while it lingered", async () => {
    const scene = SessionScene.welcomed();
    scene.session.drain(null);
    await scene.runtime.advance(199);
    scene.say({ assigns: [assign("late")] });
    await scene.runtime.advance(60_000);
    assert.deepEqual(scene.goodbyes, []);
    scene.finish("late", { outcome: "RELEASED" });
    scene.say({ acks: [token("late")] });
    await scene.runtime.advance(200);
    assert.deepEqual(scene.goodbyes, [null]);
  });

  it("says it again on the next connection, and delivers what it holds before it leaves", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a")] });
    scene.session.drain(null);
    scene.finish("a");
    await scene.reconnect();
    scene.sent();
    scene.welcome();
    const messages = scene.sent();
    assert.equal(messages.filter((message) => message.draining).length, 1);
    assert.deepEqual(resultsOf(messages), ["a:1"]);
    scene.say({ acks: [token("a")] });
    await scene.runtime.advance(200);
    assert.deepEqual(scene.goodbyes, [null]);
  });

  it("leaves at its limit in any case, and says what it left behind", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("stuck")] });
    scene.session.drain(5_000);
    await scene.runtime.advance(4_999);
    assert.deepEqual(scene.goodbyes, []);
    await scene.runtime.advance(1);
    assert.deepEqual(scene.goodbyes, [null]);
    assert.match(scene.warnings[0] ?? "", /left with 1 attempts/);
    await scene.runtime.advance(60_000);
    assert.equal(scene.link.connections.length, 1);
  });

  it("leaves at once where it was never connected", async () => {
    const scene = new SessionScene();
    scene.session.start();
    scene.link.connection.break();
    scene.session.drain(null);
    await scene.runtime.turn();
    assert.deepEqual(scene.goodbyes, [null]);
    await scene.runtime.advance(60_000);
    assert.equal(scene.link.connections.length, 1);
  });
});

/** @returns time that the worker took to connect again, in milliseconds */
async function untilConnected(scene: SessionScene): Promise<number> {
  const before = scene.link.connections.length;
  for (let waitedMs = 0; waitedMs <= 10_000; waitedMs++) {
    await scene.runtime.turn();
    if (scene.link.connections.length > before) return waitedMs;
    scene.runtime.nowMs++;
  }
  throw new Error("the worker has not connected again");
}
