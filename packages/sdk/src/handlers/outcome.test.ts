import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene } from "../../test/executor-scene.ts";
import type { FinishedReport } from "../session/work.ts";
import { task } from "../task.ts";
import { RESULT_MAX_BYTES } from "./outcome.ts";
import { RetryAtError, TerminalError } from "./retry-errors.ts";

/** Outcome of an attempt that runs this handler. */
async function endOf(run: () => unknown, payload = ""): Promise<FinishedReport> {
  const scene = new ExecutorScene(1, [task({ name: "it", run })]);
  scene.apply({ assigns: [assignment("x", { handler: "it", payload })] });
  const [report, ...others] = await scene.finished();
  assert.deepEqual([others, scene.executor.occupied], [[], 0]);
  assert.ok(report);
  return report;
}

function thrown(error: unknown): () => never {
  return () => {
    throw error;
  };
}

describe("what a handler returns", () => {
  it("is the result as JSON, or none", async () => {
    assert.equal((await endOf(() => ({ n: [1, "ü", null] }))).result, '{"n":[1,"ü",null]}');
    assert.equal((await endOf(async () => null)).result, "null");
    for (const nothing of [undefined, () => 1, Symbol("s")]) {
      const report = await endOf(() => nothing);
      assert.deepEqual([report.outcome, report.result], ["SUCCEEDED", ""]);
    }
  });

  it("may have a mebibyte of JSON and not a byte more", async () => {
    const fits = "ü".repeat((RESULT_MAX_BYTES - 2) / 2);
    assert.equal((await endOf(() => fits)).outcome, "SUCCEEDED");
    const report = await endOf(() => `${fits}!`);
    assert.deepEqual([report.outcome, report.result, report.advice], ["FAILED", "", { kind: "NEVER" }]);
    assert.equal(report.error?.name, "ResultTooLarge");
    assert.match(report.error?.message ?? "", /1048577 bytes of JSON; 1048576 may be/);
  });

  it("fails for good where it is not JSON", async () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const value of [5n, circle, { toJSON: thrown(new Error("mine")) }]) {
      const report = await endOf(() => value);
      assert.deepEqual([report.outcome, report.error?.name], ["FAILED", "ResultNotJson"]);
      assert.deepEqual(report.advice, { kind: "NEVER" });
    }
  });
});

describe("what a handler throws", () => {
  it("is a failure that the job's policy judges", async () => {
    for (const run of [thrown(new TypeError("no such thing")), async () => thrown(new TypeError("no such thing"))()]) {
      const { outcome, error, advice } = await endOf(run);
      assert.deepEqual([outcome, error?.name, error?.message], ["FAILED", "TypeError", "no such thing"]);
      assert.match(error?.stack ?? "", /outcome\.test\.ts/);
      assert.equal(advice, null);
    }
  });

  it("may say not to try again", async () => {
    const { outcome, error, advice } = await endOf(thrown(new TerminalError("the card is stolen")));
    assert.deepEqual([outcome, error?.name, error?.message], ["FAILED", "TerminalError", "the card is stolen"]);
    assert.deepEqual(advice, { kind: "NEVER" });
  });

  it("may say when to try again, with the reason of another error", async () => {
    const at = new Date("2031-02-03T04:05:06.789Z");
    const { error, advice } = await endOf(thrown(new RetryAtError(at, new Error("rate limited"))));
    assert.deepEqual([error?.name, error?.message], ["RetryAtError", "rate limited"]);
    assert.deepEqual(advice, { kind: "AT", atMs: at.getTime() });
    const { error: plain } = await endOf(thrown(new RetryAtError(at.getTime())));
    assert.equal(plain?.message, "to be tried again at 2031-02-03T04:05:06.789Z");
  });

  it("must not name a time that there is not", () => {
    for (const at of [Number.NaN, -1, 9e15, Number.POSITIVE_INFINITY, new Date("nonsense")]) {
      assert.throws(() => new RetryAtError(at, "x"), RangeError);
    }
    assert.ok(new RetryAtError(8.64e15, "the last instant"));
  });

  it("is understood from another copy of the SDK", async () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("mainspring.retry-advice")]: { kind: "NEVER" } });
    assert.deepEqual((await endOf(thrown(foreign))).advice, { kind: "NEVER" });
  });

  it("need not be an error, nor have a sensible length", async () => {
    const messages = ["plain", { code: 7 }, null, undefined, 5n].map(
      async (value) => (await endOf(thrown(value))).error,
    );
    assert.deepEqual(
      (await Promise.all(messages)).map((error) => [error?.name, error?.message]),
      ["plain", '{"code":7}', "null", "undefined", "5"].map((message) => ["Error", message]),
    );
    const { error } = await endOf(thrown(new Error("x".repeat(100_000))));
    assert.deepEqual([error?.message.length, (error?.stack?.length ?? 0) <= 8_192], [8_192, true]);
  });

  it("may even refuse to be looked at", async () => {
    const circle = Object.create(null);
    circle.self = circle;
    const hostile = Object.defineProperty(new Error("x"), "message", { get: thrown(new Error("do not look")) });
    for (const value of [circle, hostile]) {
      const { outcome, error } = await endOf(thrown(value));
      assert.equal(outcome, "FAILED");
      assert.match(error?.message ?? "", /cannot be described/);
      assert.equal((await endOf(async () => thrown(value)())).outcome, "FAILED");
    }
  });
});

describe("work that cannot be run", () => {
  it("is terminal where no handler has its name", async () => {
    const scene = new ExecutorScene(1);
    scene.apply({ assigns: [assignment("x", { handler: "unheard-of" })] });
    const [report] = await scene.finished();
    assert.deepEqual([report?.outcome, report?.advice], ["FAILED", { kind: "NEVER" }]);
    assert.match(report?.error?.message ?? "", /no handler "unheard-of"/);
    assert.equal(scene.executor.occupied, 0);
  });

  it("is terminal where its payload is not JSON", async () => {
    const report = await endOf(() => 1, "{nonsense");
    assert.deepEqual([report.error?.name, report.advice], ["InvalidPayload", { kind: "NEVER" }]);
  });
});
