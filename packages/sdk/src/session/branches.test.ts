import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Feature, Outcome, type WorkerMessage } from "@mainspring/proto";
import { SessionScene, token } from "../../test/session-scene.ts";
import { assign, TinyGateway } from "../../test/tiny-gateway.ts";
import { task } from "../task.ts";
import { Worker } from "../worker.ts";

/** Branches of the results among these messages, as `execution branch`. */
function branchesOf(messages: readonly WorkerMessage[]): string[] {
  return messages.flatMap((message) => message.finished.map((item) => `${item.token?.executionId} ${item.branch}`));
}

describe("a session whose handlers name branches", () => {
  it("sends a branch with its result, and again whenever it repeats the result", async () => {
    const scene = SessionScene.welcomed();
    scene.say({ assigns: [assign("a"), assign("b")] });
    scene.finish("a", { branch: "good" });
    scene.finish("b");
    const both = ["a good", "b undefined"];
    assert.deepEqual(branchesOf(scene.sent()), both);
    scene.say({ resendResults: true });
    assert.deepEqual(branchesOf(scene.sent()), both);
    await scene.reconnect();
    scene.sent();
    scene.welcome();
    assert.deepEqual(branchesOf(scene.sent()), both);
    scene.say({ assigns: [assign("a")] });
    assert.deepEqual(branchesOf(scene.sent()), ["a good"], "the answer to a repeated Assign");
    scene.say({ acks: [token("a")], resendResults: true });
    assert.deepEqual(branchesOf(scene.sent()), ["b undefined"]);
  });

  it("sends a branch whatever features the gateway has", async () => {
    const scene = SessionScene.welcomed();
    await scene.reconnect();
    scene.welcome({ welcome: { heartbeatIntervalMs: 10_000, gateway: "old", features: 0 }, assigns: [assign("a")] });
    scene.sent();
    scene.finish("a", { branch: "good" });
    assert.deepEqual(branchesOf(scene.sent()), ["a good"]);
  });
});

describe("branches of a worker whose session runs in a thread", () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    await Promise.allSettled(closing.splice(0).map((close) => close()));
  });

  it("reach the gateway, and only with the results of their handlers", async () => {
    const gateway = await TinyGateway.start();
    const check = task({ name: "noop", run: (name: string | null, ctx) => name !== null && ctx.branch(name) });
    const worker = new Worker({ url: gateway.address, tasks: [check], warn: () => undefined });
    closing.push(
      () => gateway.stop(),
      () => worker.stop({ timeoutMs: 0 }),
    );
    void worker.start();
    const stream = await gateway.stream();
    await stream.next((message) => message.hello !== undefined);
    stream.send({ welcome: { heartbeatIntervalMs: 1_000, gateway: "gateway-1", features: Feature.STEPS } });
    for (const [id, payload, outcome, branch] of [
      ["a", '"good"', Outcome.SUCCEEDED, "good"],
      ["b", "null", Outcome.SUCCEEDED, undefined],
      ["c", '"no name"', Outcome.FAILED, undefined],
    ] as const) {
      stream.send({ assigns: [assign(id, { payload: Buffer.from(payload) })] });
      const [finished] = (await stream.next((message) => message.finished.length > 0)).finished;
      assert.deepEqual([finished?.token?.executionId, finished?.outcome, finished?.branch], [id, outcome, branch]);
    }
  });
});
