import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene, ref } from "../../test/executor-scene.ts";
import { task } from "../task.ts";
import { TerminalError } from "./retry-errors.ts";

describe("a handler that names a branch", () => {
  /** Ends an attempt whose handler has named these branches. @returns the report of its end */
  async function endAfter(names: readonly string[], end: "return" | "throw" | "cancel") {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    const { ctx, return: succeed, throw: fail } = scene.running("a");
    for (const name of names) ctx.branch(name);
    if (end === "cancel") scene.apply({ cancels: [{ ...ref("a"), cause: "REQUESTED" }] });
    if (end === "return") succeed(1);
    else fail(new Error("no"));
    const [report] = await scene.finished();
    assert.ok(report);
    return report;
  }

  it("reports the last one with its success", async () => {
    const { outcome, result, branch } = await endAfter(["good", "bad", "A-z_0.9"], "return");
    assert.deepEqual([outcome, result, branch], ["SUCCEEDED", "1", "A-z_0.9"]);
  });

  it("reports none with another end, and its report has no field then", async () => {
    for (const [names, end, outcome] of [
      [["good"], "throw", "FAILED"],
      [["good"], "cancel", "CANCELLED"],
      [[], "return", "SUCCEEDED"],
    ] as const) {
      const report = await endAfter(names, end);
      assert.deepEqual([report.outcome, Object.hasOwn(report, "branch")], [outcome, false]);
    }
  });

  it("reports none where the attempt is suspended", async () => {
    const waits = task({
      name: "waits",
      run: async (_: null, ctx) => {
        ctx.branch("good");
        await ctx.step.sleep("night", { days: 1 });
      },
    });
    const scene = new ExecutorScene(1, [waits]);
    scene.apply({ assigns: [assignment("a", { handler: "waits", payload: "null" })] });
    await scene.runtime.advance(10);
    const [report] = await scene.finished();
    assert.deepEqual([report?.outcome, report?.branch], ["SUSPENDED", undefined]);
  });

  it("may do so in middleware too", async () => {
    const quick = task({ name: "quick", run: () => 1 });
    const scene = new ExecutorScene(1, [quick], {}, [
      async (ctx, next) => {
        await next();
        ctx.branch("good");
      },
    ]);
    scene.apply({ assigns: [assignment("a", { handler: "quick" })] });
    await scene.runtime.advance(10);
    assert.deepEqual((await scene.finished())[0]?.branch, "good");
  });

  it("fails for good where the text is no name, and keeps the branch before where it catches that", async () => {
    const takes = task({ name: "takes", run: (names: string[], ctx) => names.forEach((name) => ctx.branch(name)) });
    const wrong = ["", "no name", "a/b", "ü", "good\n", "x".repeat(65), 7, null];
    for (const name of wrong) {
      const scene = new ExecutorScene(1, [takes]);
      scene.apply({ assigns: [assignment("a", { handler: "takes", payload: JSON.stringify(["good", name]) })] });
      const [report] = await scene.finished();
      assert.deepEqual(
        [report?.outcome, report?.error?.name, report?.advice, report?.branch],
        ["FAILED", "InvalidBranch", { kind: "NEVER" }, undefined],
      );
    }
    const scene = new ExecutorScene(1);
    scene.assign("a");
    const { ctx, return: succeed } = scene.running("a");
    ctx.branch("x".repeat(64));
    assert.throws(() => ctx.branch("no name"), TerminalError);
    succeed();
    assert.equal((await scene.finished())[0]?.branch, "x".repeat(64));
  });
});
