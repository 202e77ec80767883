import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endOf, StepScene } from "../../test/step-scene.ts";
import { StepError } from "./step-error.ts";

describe("a checkpoint", () => {
  it("resolves when it is stored, and is the last one at once", async () => {
    const scene = new StepScene();
    const lasts: unknown[] = [];
    await scene.run(async ({ checkpoint }) => {
      lasts.push(checkpoint.last);
      const stored = checkpoint({ row: 1, at: new Date(0), no: undefined });
      lasts.push(checkpoint.last);
      await stored;
      return "done";
    });
    assert.equal(await scene.ending(), undefined);
    assert.deepEqual(lasts, [undefined, { row: 1, at: "1970-01-01T00:00:00.000Z" }]);
    assert.deepEqual(await scene.store(), [{ number: 1, name: "", data: '{"row":1,"at":"1970-01-01T00:00:00.000Z"}' }]);
    assert.equal(await scene.ending(), 'SUCCEEDED "done"');
  });

  it("of an earlier attempt is the last one until there is a newer one", async () => {
    const scene = new StepScene();
    const lasts: unknown[] = [];
    const earlier = [{ data: '{"row":1}' }, { name: "s", data: "1" }, { data: '{"row":2}' }];
    await scene.run(
      async ({ checkpoint }) => {
        lasts.push(checkpoint.last);
        await checkpoint({ row: 3 });
        lasts.push(checkpoint.last);
      },
      { attempt: 2, earlier },
    );
    await scene.store(2);
    assert.deepEqual(lasts, [{ row: 2 }, { row: 3 }]);
  });

  it("replaces those that wait for the one on its way", async () => {
    const scene = new StepScene();
    const stored: number[] = [];
    await scene.run(async ({ checkpoint }) => {
      await Promise.all([1, 2, 3, 4].map((row) => checkpoint(row).then(() => stored.push(row))));
    });
    assert.deepEqual(scene.steps(), [{ number: 1, name: "", data: "1" }]);
    await scene.acknowledge([1]);
    assert.deepEqual(stored, [1]);
    assert.deepEqual(scene.steps(), [{ number: 2, name: "", data: "4" }]);
    await scene.acknowledge([2]);
    assert.deepEqual(stored, [1, 2, 3, 4]);
  });

  it("is refused where it is too large or no JSON, and the one before stays", async () => {
    for (const [value, name] of [
      ["x".repeat(262_143), "StepTooLarge"],
      [1n, "StepNotJson"],
    ] as const) {
      const { sent, end } = await endOf(async ({ checkpoint }) => {
        await checkpoint("x".repeat(262_142));
        const error: unknown = await checkpoint(value).catch((thrown: unknown) => thrown);
        assert.equal((checkpoint.last as string).length, 262_142);
        assert.ok(error instanceof StepError);
        throw error;
      });
      assert.equal(sent.length, 1);
      assert.match(end ?? "", new RegExp(`^FAILED ${name}: the checkpoint .*!$`));
    }
  });
});
