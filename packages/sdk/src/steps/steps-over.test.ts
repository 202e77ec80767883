import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StepScene } from "../../test/step-scene.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";

describe("a gateway that is too old", () => {
  it("makes steps and checkpoints fail before the function is called, and names itself; the attempt may be retried", async () => {
    const scene = new StepScene(0);
    let calls = 0;
    await scene.run(async ({ step, checkpoint }) => {
      await assert.rejects(checkpoint(1), { name: "StepsUnsupported" });
      await step.run("a", () => ++calls);
    });
    const end = await scene.ending();
    assert.equal(
      end,
      "FAILED StepsUnsupported: the server gateway-1 cannot store steps: its release is older than this worker's. Upgrade the server",
    );
    assert.deepEqual([calls, scene.steps()], [0, []]);
  });

  it("still lets a handler read the steps of earlier attempts", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    const handler = async ({ step }: TaskContext) => {
      await gate.promise;
      return await step.run("a", () => "new");
    };
    await scene.run(handler, { attempt: 2, earlier: [{ name: "a", data: '"old"' }] });
    await scene.reconnect(0);
    gate.resolve();
    assert.equal(await scene.ending(), 'SUCCEEDED "old"');
  });

  it("rejects what waits when a worker comes to it, and a newer one takes later steps", async () => {
    const scene = new StepScene();
    const errors: unknown[] = [];
    const next = Promise.withResolvers<void>();
    await scene.run(async ({ step, checkpoint }) => {
      const caught = (error: Error) => errors.push(error.name);
      await Promise.all([
        step.run("a", () => 1).catch(caught),
        checkpoint(1).catch(caught),
        checkpoint(2).catch(caught),
      ]);
      await next.promise;
      return await step.run("b", () => 2);
    });
    await scene.reconnect(0);
    assert.deepEqual(errors, ["StepsUnsupported", "StepsUnsupported", "StepsUnsupported"]);
    await scene.reconnect();
    assert.deepEqual(scene.steps(), []);
    next.resolve();
    await scene.runtime.turn();
    assert.deepEqual(await scene.store(), [{ number: 3, name: "b", data: "2" }]);
    assert.equal(await scene.ending(), "SUCCEEDED 2");
  });
});

describe("steps that a gateway too old has rejected", () => {
  it("do not count among the steps of the execution", async () => {
    const scene = new StepScene();
    const big = "x".repeat(256 * 1024 - 2);
    const next = Promise.withResolvers<void>();
    await scene.run(async ({ step }) => {
      const names = Array.from({ length: 16 }, (_, index) => index);
      await Promise.allSettled(names.map((name) => step.run(["rejected", name], () => big)));
      await next.promise;
      await Promise.all(names.map((name) => step.run(["stored", name], () => big)));
    });
    await scene.reconnect(0);
    await scene.reconnect();
    next.resolve();
    await scene.runtime.turn();
    assert.equal((await scene.store()).filter(({ name }) => name.includes("stored")).length, 16);
    assert.equal(await scene.ending(), "SUCCEEDED ");
  });
});

describe("the steps of an attempt that is over", () => {
  const seen: unknown[] = [];
  const saying = (error: unknown) => {
    assert.ok(error instanceof AttemptAborted, String(error));
    seen.push(error.reason);
  };
  const handler = async ({ step, checkpoint }: TaskContext) => {
    await Promise.all([step.run("a", () => 1).catch(saying), checkpoint(1).catch(saying), checkpoint(2).catch(saying)]);
    await step.run("b", () => assert.fail("it must not be called")).catch(saying);
  };

  it("reject where the server has refused its token", async () => {
    seen.length = 0;
    const scene = new StepScene();
    await scene.run(handler);
    scene.link.connection.say({ refused: [{ executionId: "e", attempt: 1, shard: 7 }] });
    await scene.runtime.turn();
    assert.deepEqual(seen, Array(4).fill("SUPERSEDED"));
    await scene.acknowledge([1]);
    assert.deepEqual(scene.steps().length, 2);
  });

  it("reject where the worker leaves", async () => {
    seen.length = 0;
    const scene = new StepScene();
    await scene.run(handler);
    const stopped = scene.worker.stop({ timeoutMs: 1_000 });
    await scene.runtime.turn();
    assert.deepEqual(seen, []);
    await scene.runtime.advance(1_000);
    await stopped;
    assert.deepEqual(seen, Array(4).fill("WORKER_LEAVES"));
  });

  it("are still stored while the worker drains", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    await scene.run(({ step }) => gate.promise.then(() => step.run("a", () => 1)));
    void scene.worker.stop();
    gate.resolve();
    await scene.runtime.turn();
    assert.equal((await scene.store()).length, 1);
    assert.equal(await scene.ending(), "SUCCEEDED 1");
  });

  it("reject where it was ended by force, and until then are stored", async () => {
    seen.length = 0;
    const scene = new StepScene();
    await scene.run(async ({ step, signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      assert.equal(await step.run("in grace", () => 1), 1);
      await handler({ step, checkpoint: () => step.run("x", () => 1) } as never);
    });
    await scene.runtime.advance(60_000);
    assert.deepEqual(
      scene.steps().map(({ name }) => name),
      ["in grace"],
    );
    await scene.acknowledge([1]);
    await scene.runtime.advance(1_100);
    assert.match((await scene.ending()) ?? "", /^TIMED_OUT/);
    assert.equal(seen[0], "TIMED_OUT");
  });

  it("reject where the handler has ended without them, and are sent before its result", async () => {
    seen.length = 0;
    const scene = new StepScene();
    const late = Promise.withResolvers<void>();
    await scene.run(async ({ step, checkpoint }) => {
      step.run("late", () => late.promise).catch(saying);
      step.run("sent", () => 1).catch(saying);
      for (const row of [1, 2, 3]) checkpoint(row).catch(saying);
      await null;
      await null;
      await null;
      return "done";
    });
    assert.equal(await scene.ending(), 'SUCCEEDED "done"');
    late.resolve();
    await scene.runtime.turn();
    assert.deepEqual(seen, Array(5).fill("ENDED"));
    const order = scene.messages.flatMap(({ steps, finished }) => [
      ...steps.map(({ name, data }) => `${name}=${Buffer.from(data)}`),
      ...finished.map(() => "result"),
    ]);
    assert.deepEqual(order, ["=1", "sent=1", "=3", "result"]);
  });

  it("end no process where nobody awaits them", async () => {
    const scene = new StepScene();
    await scene.run(({ step, checkpoint }) => {
      void step.run("a", () => Promise.reject(new Error("nobody listens")));
      void step.run("", () => 1);
      void checkpoint(1n);
      void checkpoint(1);
      void checkpoint(2);
    });
    assert.equal(await scene.ending(), "SUCCEEDED ");
    await new Promise(setImmediate);
  });
});
