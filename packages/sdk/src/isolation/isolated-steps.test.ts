import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene, NO_STEPS } from "../../test/executor-scene.ts";
import { ManualRuntime } from "../../test/manual-runtime.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import type { Assignment, FinishedReport, StepReport } from "../session/work.ts";
import { task } from "../task.ts";
import { isolatedRun } from "./isolation.ts";
import { isFromIsolated } from "./isolation-messages.ts";

const module = new URL("../../test/isolated-handlers.ts", import.meta.url);

/** Times that no clock reaches that moves by a millisecond in a turn of the event loop. */
const PATIENT = { timeoutMs: 86_400_000, cancelGraceMs: 86_400_000 };

/**
 * Runs an isolated handler in an executor whose server stores every record. The clock moves once a step of the handler has
 * the value "moves".
 */
async function run(where: "process" | "thread", handler: string, over: Partial<Assignment> = {}) {
  const scene = new ExecutorScene(1, [task({ name: "apart", isolate: { in: where, module, export: handler } })]);
  scene.apply({ assigns: [assignment("e", { handler: "apart", ...over })] });
  const steps: StepReport[] = [];
  const contents: string[] = [];
  let finished: FinishedReport | undefined;
  while (finished === undefined) {
    await new Promise(setImmediate);
    await scene.runtime.advance(contents.includes('"moves"') ? 1 : 0);
    for (const report of scene.reports.splice(0)) {
      contents.push(...report.logs.map(({ line }) => line));
      contents.push(...(report.steps ?? []).map(({ data }) => data), ...report.finished.map(() => "result"));
      steps.push(...(report.steps ?? []));
      if (report.steps !== undefined) scene.apply({ stepAcks: report.steps });
      finished = report.finished[0];
    }
  }
  return { steps, contents, finished };
}

for (const where of ["process", "thread"] as const) {
  describe(`the steps of a handler in a ${where} of its own`, () => {
    it("are recorded and replayed as those of any other", async () => {
      const recorded = [
        { name: "old", kind: "RESULT", data: '"recorded"' },
        { name: "", kind: "CHECKPOINT", data: '{"row":1}' },
      ] as const;
      const { steps, finished } = await run(where, "useSteps", { recorded });
      assert.deepEqual(
        steps.map(({ number, kind, name, data }) => [number, kind, name, data]),
        [
          [1, "RESULT", '["new",1]', '{"at":"1970-01-01T00:00:00.000Z"}'],
          [2, "RESULT", "none", ""],
          [3, "CHECKPOINT", "", '{"row":2}'],
        ],
      );
      assert.deepEqual(JSON.parse(finished.result), {
        before: { row: 1 },
        last: { row: 2 },
        old: "recorded",
        fresh: { at: "1970-01-01T00:00:00.000Z" },
        hasNone: true,
        key: 'e/["new",1]',
      });
    });

    it("fail with the same errors", async () => {
      const { steps, finished } = await run(where, "useStepsBadly");
      assert.deepEqual(JSON.parse(finished.result), {
        retried: "own",
        calls: 2,
        duplicate: "DuplicateStep true",
        big: "StepTooLarge true",
        bigint: "StepNotJson true",
        name: "InvalidStep true",
        checkpoint: "StepNotJson true",
      });
      assert.deepEqual(steps, []);
    });

    it("are sent before the result, the newest checkpoint included", async () => {
      const { contents } = await run(where, "checkpointOften", { payload: "1000" });
      assert.deepEqual(contents, ['{"row":1}', '{"row":1000}', "result"]);
    });

    it("suspend their attempt, once the handler has gone on after each step that ended", async () => {
      const recorded = [
        { name: "over", kind: "WAIT", untilMs: 1_000_000, isOver: true },
        { name: "known", kind: "SIGNAL", data: '"ü"', signalId: "s-1" },
      ] as const;
      const { steps, contents, finished } = await run(where, "waitForAll", { recorded, ...PATIENT });
      assert.deepEqual(
        steps.map(({ name, data, signalId = "" }) => [name, data, signalId]),
        [
          ["known", '{"name":"known","data":"ü","id":"s-1"}', "s-1"],
          ['["chain",1]', "1", ""],
          ['["chain",2]', "2", ""],
          ['["chain",3]', "3", ""],
          ["instead", "1", ""],
          ["clock", '"moves"', ""],
        ],
      );
      assert.deepEqual(
        finished.waits?.map(({ name, signals, isRecorded }) => [name, signals, isRecorded]),
        [
          ["long", [], false],
          ["both", ["a", "b"], false],
        ],
      );
      assert.deepEqual([finished.outcome, finished.error, finished.stillRunning], ["SUSPENDED", null, false]);
      assert.deepEqual(contents.slice(-3), ["SUSPENDED true SUSPENDED", "SUSPENDED", "result"]);
    });

    it("refuse bad waits with the same errors", async () => {
      const { finished } = await run(where, "waitBadly");
      const expected = ["InvalidWait true", "none", "DuplicateStep true", "InvalidWait true", "InvalidStep true"];
      assert.deepEqual(JSON.parse(finished.result), expected);
    });

    it("suspend the attempt of a handler that does not end, and that is killed", async () => {
      const { finished } = await run(where, "waitStubbornly", { ...PATIENT, cancelGraceMs: 50 });
      assert.deepEqual([finished.outcome, finished.waits?.map(({ name }) => name)], ["SUSPENDED", ["a"]]);
    });

    it("reject with the reason for which the attempt is over", async () => {
      const runtime = new ManualRuntime();
      const superseded = () => Promise.reject(new AttemptAborted("e:2", "SUPERSEDED"));
      const ctx = {
        ...{ executionId: "e", attempt: 2, fence: "e:2", cancelGraceMs: 1_000, signal: new AbortController().signal },
        step: { ...NO_STEPS.step, run: superseded },
        checkpoint: Object.assign(superseded, { last: undefined }),
      } as unknown as TaskContext;
      const reasons = await isolatedRun({ in: where, module, export: "useStepTooLate" }, runtime)(null, ctx);
      const expected = "SUPERSEDED attempt e:2 was aborted: SUPERSEDED";
      assert.deepEqual(reasons, [expected, expected]);
    });
  });
}

describe("messages about steps from a handler's process", () => {
  it("are taken only with fields of the right type", () => {
    const good = [
      { kind: "STEP", call: 1, name: "a" },
      { kind: "STEP_RAN", call: 1, data: "1" },
      { kind: "STEP_THREW", call: 1 },
      { kind: "CHECKPOINT", call: 1, data: "1" },
      { kind: "SLEEP", call: 1, name: "a", delayMs: 1 },
      { kind: "WAIT_FOR_SIGNAL", call: 1, name: "a", signals: ["a"], timeoutMs: 1 },
      { kind: "WENT_ON", call: 1 },
    ];
    assert.ok(good.every(isFromIsolated));
    const bad = [
      { kind: "STEP", call: "1", name: "a" },
      { kind: "STEP", call: 1, name: ["a"] },
      { kind: "STEP_RAN", call: 1 },
      { kind: "STEP_THREW" },
      { kind: "SLEEP", call: 1, name: "a", delayMs: "1" },
      { kind: "WAIT_FOR_SIGNAL", call: 1, name: "a", signals: "a", timeoutMs: 1 },
      { kind: "WENT_ON" },
      { kind: "toString" },
      { kind: "CHECKPOINT", call: 1, data: 7 },
    ];
    assert.deepEqual(bad.filter(isFromIsolated), []);
  });
});
