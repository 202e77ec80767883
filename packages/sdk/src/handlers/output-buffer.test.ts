import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ExecutorScene } from "../../test/executor-scene.ts";
import type { LogReport, ProgressReport } from "../session/work.ts";

function saidIn({ reports }: ExecutorScene): { progress: ProgressReport[]; logs: LogReport[] } {
  return {
    progress: reports.flatMap((report) => report.progress),
    logs: reports.flatMap((report) => report.logs),
  };
}

describe("what a handler says while it runs", () => {
  it("goes out a tenth of a second later: every line, and of its progress the latest", async () => {
    const scene = new ExecutorScene(2);
    scene.assign("a", "b");
    const { ctx } = scene.running("a");
    await scene.runtime.turn();
    for (let i = 0; i < 10; i++) ctx.progress(i / 10, `step ${i}`);
    scene.running("b").ctx.progress(1);
    ctx.log("first");
    await scene.runtime.advance(50);
    ctx.log("second");
    assert.deepEqual(saidIn(scene), { progress: [], logs: [] });
    await scene.runtime.advance(50);
    assert.deepEqual(saidIn(scene), {
      progress: [
        { executionId: "a", attempt: 1, fraction: 0.9, message: "step 9" },
        { executionId: "b", attempt: 1, fraction: 1, message: "" },
      ],
      logs: [
        { executionId: "a", attempt: 1, atMs: 1_000_000, line: "first" },
        { executionId: "a", attempt: 1, atMs: 1_000_050, line: "second" },
      ],
    });
    ctx.log("third");
    await scene.runtime.advance(100);
    assert.equal(saidIn(scene).logs.length, 3);
  });

  it("goes with the result where that comes first", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    scene.running("a").ctx.log("nearly done");
    scene.running("a").return();
    await scene.finished();
    assert.deepEqual(
      scene.reports.map(({ finished, logs }) => [finished.length, logs.length]),
      [[1, 1]],
    );
  });

  it("is not heard after its end", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    const { ctx, return: end } = scene.running("a");
    end();
    await scene.finished();
    ctx.log("one more thing");
    ctx.progress(1);
    await scene.runtime.advance(1_000);
    assert.deepEqual(saidIn(scene), { progress: [], logs: [] });
  });

  it("is bounded: in lines, in their length, and a fraction is one", async () => {
    const scene = new ExecutorScene(1);
    scene.assign("a");
    const { ctx } = scene.running("a");
    const fractions = [7, -1, Number.NaN, "0.25" as unknown as number];
    for (const fraction of fractions) {
      ctx.progress(fraction, "x".repeat(10_000));
      await scene.runtime.advance(100);
    }
    for (let i = 0; i < 2_000; i++) ctx.log("y".repeat(i === 0 ? 10_000 : 1));
    await scene.runtime.advance(100);
    const { progress, logs } = saidIn(scene);
    assert.deepEqual(
      progress.map(({ fraction }) => fraction),
      [1, 0, 0, 0.25],
    );
    assert.equal(progress[0]?.message.length, 8_192);
    assert.deepEqual([logs.length, logs[0]?.line.length], [1_000, 8_192]);
  });
});
