import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outcome } from "@mainspring/proto";
import { type Earlier, endOf, StepScene } from "../../test/step-scene.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import type { StepDuration } from "./step-context.ts";

const DAY_MS = 86_400_000;

/** Runs a handler until its attempt has ended, without moving the clock. */
async function suspended(handler: (ctx: TaskContext) => unknown, earlier: readonly Earlier[] = []) {
  const scene = new StepScene();
  await scene.run(handler, { earlier });
  const sent = await scene.store();
  assert.match((await scene.ending()) ?? "", /^SUSPENDED $/);
  return { scene, sent, waits: await scene.waits() };
}

/** Reason with which a promise rejects. */
const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "none",
    (error) => (error instanceof AttemptAborted ? error.reason : String(error)),
  );

describe("a step that sleeps", () => {
  it("suspends its attempt, and gives the slot back", async () => {
    const { waits, sent } = await suspended(({ step }) => step.sleep("three days", { days: 3 }));
    assert.deepEqual([waits, sent], [["three days 259200000"], []]);
  });

  it("rejects the call, so that `finally` runs, whatever the handler makes of it", async () => {
    const seen: unknown[] = [];
    const { scene } = await suspended(async ({ step, signal, checkpoint }) => {
      try {
        await step.sleep("a", DAY_MS);
      } catch (error) {
        seen.push((error as AttemptAborted).reason, signal.aborted, (signal.reason as AttemptAborted).reason);
        seen.push(await reasonOf(step.run("b", () => seen.push("called"))));
        seen.push(await reasonOf(step.sleep("c", 1)), await reasonOf(step.waitForSignal("d")));
        void checkpoint({ row: 7 });
      }
      return "done";
    });
    assert.deepEqual(seen, ["SUSPENDED", true, "SUSPENDED", "SUSPENDED", "SUSPENDED", "SUSPENDED"]);
    const order = scene.messages.flatMap(({ steps, finished }) => [
      ...steps.map(({ data }) => String(Buffer.from(data))),
      ...finished.map(({ outcome }) => Outcome[outcome]),
    ]);
    assert.deepEqual(order, ['{"row":7}', "SUSPENDED"]);
  });

  it("returns when an earlier attempt suspended for it and the time is over, or its result is recorded", async () => {
    const { end, sent } = await endOf(
      async ({ step }) => {
        await step.sleep("over", DAY_MS);
        await step.sleepUntil("recorded", new Date(1_000_000 + DAY_MS));
        return "awake";
      },
      [
        { name: "over", remainingMs: 0 },
        { name: "recorded", data: "" },
      ],
    );
    assert.deepEqual([end, sent], ['SUCCEEDED "awake"', []]);
  });

  it("sleeps on for what is left, from the arrival of the assignment", async () => {
    const scene = new StepScene();
    const gate = Promise.withResolvers<void>();
    const earlier = [{ name: "a", remainingMs: 60_000 }];
    await scene.run(({ step }) => gate.promise.then(() => step.sleep("a", { days: 9 })), { earlier });
    await scene.runtime.advance(10_000);
    gate.resolve();
    assert.deepEqual(await scene.waits(), ["a 50000!"]);
  });

  it("waits in place if it is shorter than five seconds, and keeps no record", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) => step.sleep("a", { seconds: 4, ms: 999 }).then(() => "awake"));
    await scene.runtime.advance(4_998);
    assert.equal(await scene.ending(), undefined);
    await scene.runtime.advance(1);
    assert.equal(await scene.ending(), 'SUCCEEDED "awake"');
    assert.deepEqual(scene.steps(), []);
    assert.deepEqual((await suspended(({ step }) => step.sleep("a", { seconds: 5 }))).waits, ["a 5000"]);
  });

  it("is over at once for 0, a negative duration and a time that has passed", async () => {
    const { end } = await endOf(async ({ step }) => {
      await step.sleep("a", 0);
      await step.sleep("b", { days: -1, hours: 3 });
      await step.sleepUntil("c", new Date(999_999));
      await step.sleep("d", Number.NEGATIVE_INFINITY);
      return "awake";
    });
    assert.equal(end, 'SUCCEEDED "awake"');
  });

  it("measures a time by the wall clock in the first attempt only", async () => {
    const until = new Date(1_000_000 + DAY_MS);
    assert.deepEqual((await suspended(({ step }) => step.sleepUntil("a", until))).waits, [`a ${DAY_MS}`]);
    const earlier = [{ name: "a", remainingMs: 7_000 }];
    assert.deepEqual((await suspended(({ step }) => step.sleepUntil("a", until), earlier)).waits, ["a 7000!"]);
    const passed = new Date(0);
    assert.deepEqual((await suspended(({ step }) => step.sleepUntil("a", passed), earlier)).waits, ["a 7000!"]);
  });

  const wrong: [unknown, RegExp][] = [
    [Number.NaN, /a number of milliseconds, or an object such as \{ days: 3, hours: 12 \} .* not NaN/],
    [366 * DAY_MS + 1, /at most 366 days, not 31622400001/],
    [{ days: 367 }, /not \{"days":367\}/],
    [{ weeks: 1 }, /the fields "days", "hours", "minutes", "seconds" and "ms"/],
    [{ days: "3" }, /not \{"days":"3"\}/],
    [{}, /not \{\}/],
    ["3 days", /not 3 days/],
    [undefined, /not undefined/],
    [null, /not null/],
  ];
  for (const [duration, message] of wrong) {
    it(`refuses the duration ${JSON.stringify(duration) ?? duration}`, async () => {
      const { end } = await endOf(({ step }) => step.sleep("a", duration as StepDuration));
      assert.match(end ?? "", /^FAILED InvalidWait: step "a": sleep for .*!$/);
      assert.match(end ?? "", message);
    });
  }

  it("refuses a time that is none, or too far away", async () => {
    for (const date of [new Date(Number.NaN), "tomorrow", 5, undefined, new Date(1_000_001 + 366 * DAY_MS)]) {
      const { end } = await endOf(({ step }) => step.sleepUntil("a", date as Date));
      assert.match(
        end ?? "",
        /^FAILED InvalidWait: step "a": sleep until a (valid Date|time at most 366 days from now), not .*!$/,
      );
    }
    assert.equal((await suspended(({ step }) => step.sleep("a", { days: 366 }))).waits?.length, 1);
  });
});

describe("a step that waits for a signal", () => {
  const approval = { name: "approved", data: '{"by":"ü"}', signalId: "s-1" };

  it("suspends its attempt until then, for at most 366 days", async () => {
    const { waits } = await suspended(({ step }) => step.waitForSignal(["approved", "rejected", "approved"]));
    assert.deepEqual(waits, [`approved|rejected ${366 * DAY_MS} approved,rejected`]);
    const options = { timeoutMs: 1, name: ["decision", 2] };
    const short = await suspended(({ step }) => step.waitForSignal("approved", options));
    assert.deepEqual(short.waits, ['["decision",2] 1 approved']);
  });

  it("consumes a signal that has come, and returns it once that is durable", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) => step.waitForSignal<{ by: string }>("approved"), { earlier: [approval] });
    const [sent] = scene.messages.length === 0 ? scene.steps() : [];
    assert.deepEqual(sent, { number: 1, name: "approved", data: '{"name":"approved","data":{"by":"ü"},"id":"s-1"}' });
    const record = scene.messages.flatMap(({ steps }) => steps)[0];
    assert.equal(record?.signalId, "s-1");
    assert.equal(await scene.ending(), undefined);
    await scene.acknowledge([1]);
    assert.equal(await scene.ending(), 'SUCCEEDED {"name":"approved","data":{"by":"ü"},"id":"s-1"}');
  });

  it("takes the earliest accepted signal of its names, and each signal once", async () => {
    const earlier = [
      { name: "b", data: "1", signalId: "s-1" },
      { name: "other", data: "2", signalId: "s-2" },
      { name: "a", data: "3", signalId: "s-3" },
      { name: "b", signalId: "s-4" },
    ];
    const { end } = await endOf(async ({ step }) => {
      const first = await step.waitForSignal(["a", "b"]);
      const [second, third] = await Promise.all([step.waitForSignal("b"), step.waitForSignal(["b", "a"])]);
      return [first, second, third].map((signal) => [signal?.id, signal?.data]);
    }, earlier);
    assert.equal(end, 'SUCCEEDED [["s-1",1],["s-4",null],["s-3",3]]');
  });

  it("gives what is recorded, also that no signal came", async () => {
    const earlier = [
      { name: "a", data: '{"name":"a","data":null,"id":"s-9"}' },
      { name: "b", data: "null" },
      { name: "a", data: "1", signalId: "s-1" },
    ];
    const { end, sent } = await endOf(
      async ({ step }) => [await step.waitForSignal("b"), await step.waitForSignal("a")],
      earlier,
    );
    assert.deepEqual([end, sent], ['SUCCEEDED [null,{"name":"a","data":null,"id":"s-9"}]', []]);
  });

  it("records that its time is over, unless a signal has come", async () => {
    const wait = { name: "approved", remainingMs: -5 };
    const none = await endOf(({ step }) => step.waitForSignal("approved"), [wait]);
    assert.deepEqual([none.end, none.sent], ["SUCCEEDED null", [{ number: 1, name: "approved", data: "null" }]]);
    const late = await endOf(
      ({ step }) => step.waitForSignal("approved").then((signal) => signal?.id),
      [wait, approval],
    );
    assert.equal(late.end, 'SUCCEEDED "s-1"');
  });

  const wrongNames: unknown[] = [
    "",
    "x".repeat(129),
    [],
    ["a", ""],
    ["a", 7],
    "a\0",
    "\ud800",
    undefined,
    new Set(["a"]),
  ];
  for (const names of [...wrongNames, Array.from({ length: 101 }, (_, index) => `n-${index}`)]) {
    it(`refuses the names ${JSON.stringify(names)?.slice(0, 20)}`, async () => {
      const { end } = await endOf(({ step }) => step.waitForSignal(names as string));
      assert.match(
        end ?? "",
        /^FAILED InvalidWait: waitForSignal takes 1 to 100 names of signals, each a text of 1 to 128 char/,
      );
    });
  }

  it("takes the largest names, if the step has one of its own", async () => {
    const names = Array.from({ length: 100 }, (_, index) => String(index).padStart(128, "ü"));
    const { waits } = await suspended(({ step }) => step.waitForSignal(names, { name: "one of many" }));
    assert.equal(waits?.[0]?.split(",").length, 100);
    const { end } = await endOf(({ step }) => step.waitForSignal(names));
    assert.match(end ?? "", /InvalidStep: .*: give the step one, as waitForSignal\(names, \{ name: "approval" \}\)!$/);
  });

  it("refuses a timeout out of its range", async () => {
    for (const timeoutMs of [0, -1, Number.NaN, 366 * DAY_MS + 1, "5" as never]) {
      const { end } = await endOf(({ step }) => step.waitForSignal("a", { timeoutMs }));
      assert.match(
        end ?? "",
        /InvalidWait: step "a": wait with a timeoutMs of more than 0 and at most 31622400000 milli/,
      );
    }
  });
});

describe("the name of a step", () => {
  it("is taken for every kind of step", async () => {
    const uses: ((ctx: TaskContext) => Promise<unknown>)[] = [
      ({ step }) => step.run("a", () => 1),
      ({ step }) => step.sleep("a", 0),
      ({ step }) => step.sleepUntil("a", new Date(0)),
      ({ step }) => step.waitForSignal("x", { name: "a" }),
    ];
    const recorded = [{ name: "a", data: "1" }];
    for (const first of uses) {
      for (const second of uses) {
        const { end } = await endOf((ctx) => first(ctx).then(() => second(ctx)), recorded);
        assert.match(end ?? "", /^FAILED DuplicateStep: step "a" runs twice in one attempt: /);
      }
    }
  });

  it("finds its record in any order, of whatever kind", async () => {
    const earlier = [
      { name: "slept", remainingMs: -1 },
      { name: "paid", data: "7" },
      { name: "asked", data: "null" },
    ];
    const { end, sent } = await endOf(async ({ step }) => {
      const asked = await step.waitForSignal("x", { name: "asked" });
      await step.sleep("slept", DAY_MS);
      return [asked, await step.run("paid", () => 8), await step.run("slept 2", () => 9)];
    }, earlier);
    assert.deepEqual([end, sent.length], ["SUCCEEDED [null,7,9]", 1]);
  });
});
