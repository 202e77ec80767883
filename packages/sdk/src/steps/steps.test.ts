import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { endOf, StepScene } from "../../test/step-scene.ts";
import type { TaskContext } from "../handlers/context.ts";
import { TerminalError } from "../handlers/retry-errors.ts";
import type { StepErrorName } from "./step-error.ts";

describe("a step", () => {
  it("resolves when the server has stored its result", async () => {
    const scene = new StepScene();
    await scene.run(async ({ step }) => `got ${await step.run("reserve", () => ({ id: 7 }).id)}`);
    assert.deepEqual(scene.steps(), [{ number: 1, name: "reserve", data: "7" }]);
    assert.equal(await scene.ending(), undefined);
    await scene.acknowledge([1]);
    assert.equal(await scene.ending(), 'SUCCEEDED "got 7"');
  });

  it("gives back the result of an earlier attempt, in any order, and does not call its function", async () => {
    const scene = new StepScene();
    const calls: string[] = [];
    const earlier = [
      { name: "a", data: '{"n":1}' },
      { name: "b", data: "" },
      { name: "dropped by the new code", data: "0" },
    ];
    const handler = async ({ step }: TaskContext) => {
      const run = (name: string) => step.run(name, () => calls.push(name));
      return [await run("b"), await run("new"), await run("a")].map((value) => value ?? "nothing");
    };
    await scene.run(handler, { attempt: 2, earlier });
    assert.deepEqual(await scene.store(2), [{ number: 1, name: "new", data: "1" }]);
    assert.equal(await scene.ending(), 'SUCCEEDED ["nothing",1,{"n":1}]');
    assert.deepEqual(calls, ["new"]);
  });

  it("has the type that its result has as JSON", async () => {
    const { end } = await endOf(async ({ step }) => {
      const { at }: { at: string } = await step.run("date", async () => ({ at: new Date(0) }));
      const nothing: undefined = await step.run("nothing", () => undefined);
      const maybe: number | undefined = await step.run("maybe", (): number | undefined => 7);
      return [at, nothing === undefined, maybe];
    });
    assert.equal(end, 'SUCCEEDED ["1970-01-01T00:00:00.000Z",true,7]');
  });

  it("may run beside others", async () => {
    const scene = new StepScene();
    await scene.run(({ step }) => Promise.all([1, 2, 3].map((n) => step.run(["square", n], () => n * n))));
    const sent = scene.steps();
    assert.deepEqual(
      sent.map(({ name }) => name),
      ['["square",1]', '["square",2]', '["square",3]'],
    );
    await scene.acknowledge([3, 1]);
    assert.equal(await scene.ending(), undefined);
    await scene.acknowledge([2]);
    assert.equal(await scene.ending(), "SUCCEEDED [1,4,9]");
  });

  it("has one key for the outside, in every attempt", async () => {
    const keys: string[] = [];
    const scene = new StepScene();
    const handler = ({ step }: TaskContext) => void keys.push(step.key("pay"), step.key(["pay", 1]));
    await scene.run(handler);
    await scene.run(handler, { attempt: 2 });
    assert.deepEqual(keys, ["e/pay", 'e/["pay",1]', "e/pay", 'e/["pay",1]']);
  });

  it("returns in its first run what it returns in a replay, whatever the function gives", async () => {
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.date({ noInvalidDate: true }),
      fc.constant(undefined),
      fc.double(),
      fc.string(),
    );
    const values = fc.oneof(odd, fc.array(odd), fc.dictionary(fc.string(), odd), fc.uint8Array());
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const results: unknown[] = [];
        const handler = async ({ step }: TaskContext) => void results.push(await step.run("s", (): unknown => value));
        const first = new StepScene();
        await first.run(handler);
        const [sent] = await first.store();
        const second = new StepScene();
        await second.run(handler, { attempt: 2, earlier: [{ name: "s", data: sent?.data ?? "never sent" }] });
        assert.deepEqual(second.steps(), []);
        assert.equal(results.length, 2);
        assert.deepStrictEqual(results[0], results[1]);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a step that is refused", () => {
  const refused = async (name: StepErrorName, run: (ctx: TaskContext) => unknown) => {
    let isCaught = false;
    const caught = await endOf(async (ctx) => {
      await assert.rejects(async () => run(ctx), { name });
      isCaught = true;
    });
    assert.ok(isCaught, `not refused: ${caught.end}`);
    const { end = "", sent } = await endOf(run);
    assert.ok(end.startsWith(`FAILED ${name}: `) && end.endsWith("!"), end);
    return { sent, end };
  };

  it("has the name of another step of the attempt", async () => {
    const twice = async ({ step }: TaskContext) => [await step.run("a", () => 1), await step.run("a", () => 2)];
    const { sent, end } = await refused("DuplicateStep", twice);
    assert.deepEqual(sent, [{ number: 1, name: "a", data: "1" }]);
    assert.match(end, /step "a" runs twice in one attempt: give each step its own name, in a loop a list/);
    await refused("DuplicateStep", ({ step }) => Promise.all([step.run("a", () => 1), step.run("a", () => 2)]));
    const replayed = await endOf(twice, [{ name: "a", data: "1" }]);
    assert.match(replayed.end ?? "", /^FAILED DuplicateStep/);
    const afterError = async ({ step }: TaskContext) => {
      const fail = () => Promise.reject(new Error("no"));
      await step.run("a", fail).catch(() => undefined);
      return await step.run("a", () => 1);
    };
    assert.deepEqual((await refused("DuplicateStep", afterError)).sent, []);
  });

  const wrongNames: [unknown, RegExp][] = [
    ["", /has 1 to 256 characters, not 0/],
    ["x".repeat(257), /not 257/],
    [["x".repeat(256)], /not 260/],
    [[], /a list of texts and finite numbers/],
    [["a", Number.NaN], /finite numbers/],
    [["a", {}], /finite numbers/],
    [undefined, /is a text, or a list/],
    [7, /is a text, or a list/],
    ["a\0b", /U\+0000/],
    ["\ud800", /surrogate/],
  ];
  for (const [name, message] of wrongNames) {
    it(`has the name ${JSON.stringify(name)?.slice(0, 20)}`, async () => {
      let calls = 0;
      const { sent, end } = await refused("InvalidStep", ({ step }) => step.run(name as string, () => ++calls));
      assert.match(end, message);
      assert.deepEqual([sent, calls], [[], 0]);
      await refused("InvalidStep", ({ step }) => step.key(name as string));
    });
  }

  it("has names of the largest size, and all characters but those, in order", async () => {
    const names = ["x".repeat(256), ["x".repeat(252)], "ü 🦉\n", ["a\0b", "\ud800", -0, 1.5]] as const;
    const { sent } = await endOf(({ step }) => Promise.all(names.map((name) => step.run(name, () => null))));
    assert.deepEqual(
      sent.map(({ name }) => name),
      ["x".repeat(256), `["${"x".repeat(252)}"]`, "ü 🦉\n", '["a\\u0000b","\\ud800",0,1.5]'],
    );
  });

  it("has no function, or a wrong number of retries", async () => {
    await refused("InvalidStep", ({ step }) => step.run("a", "not a function" as never));
    for (const retries of [-1, 0.5, 1_001, "3" as never]) {
      const { end } = await refused("InvalidStep", ({ step }) => step.run("a", () => 1, { retries }));
      assert.match(end, /retries must be a whole number from 0 to 1000/);
    }
  });

  it("has a result that is no JSON, or more than 256 KiB of it", async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const value of [1n, cycle, { toJSON: () => assert.fail("no") }]) {
      const { sent, end } = await refused("StepNotJson", ({ step }) => step.run("a", () => value));
      assert.match(end, /the result of step "a" cannot be written as JSON: /);
      assert.deepEqual(sent, []);
    }
    const fits = "ü".repeat(131_071);
    assert.equal((await endOf(({ step }) => step.run("a", () => fits).then(() => 1))).end, "SUCCEEDED 1");
    const { sent, end } = await refused("StepTooLarge", ({ step }) => step.run("a", () => `${fits}!`));
    assert.match(end, /the result of step "a" is 262145 bytes of JSON; 262144 may be: store the data elsewhere/);
    assert.deepEqual(sent, []);
  });

  it("is one too many for its execution, those of earlier attempts included, before its function is called", async () => {
    const earlier = Array.from({ length: 997 }, (_, n) => ({ name: `old-${n}`, data: "1" }));
    let calls = 0;
    const { sent, end } = await endOf(async ({ step }) => {
      await step.run("old-3", () => ++calls);
      await step.run("fails", () => Promise.reject(new Error("no"))).catch(() => undefined);
      for (const name of ["a", "b", "c", "d"]) await step.run(name, () => ++calls);
    }, earlier);
    assert.deepEqual([sent.length, calls], [3, 3]);
    assert.match(end ?? "", /^FAILED StepTooLarge: an execution may have 1000 steps, and this one has them: .*!$/);
  });

  it("takes the steps of its execution over 4 MiB, those of earlier attempts included", async () => {
    const quarter = JSON.stringify("x".repeat(256 * 1024 - 2));
    const earlier = Array.from({ length: 14 }, (_, n) => ({ name: `old-${n}`, data: quarter }));
    const { sent, end } = await endOf(async ({ step }) => {
      await step.run("a", () => JSON.parse(quarter));
      await step.run("b", () => "x".repeat(256 * 1024 - 3));
      await step.run("c", () => 12).catch((error) => assert.equal(error.name, "StepTooLarge"));
      await step.run("d", () => 1);
      await step.run("e", () => 1);
    }, earlier);
    assert.deepEqual(
      sent.map(({ name }) => name),
      ["a", "b", "d"],
    );
    assert.match(end ?? "", /the result of step "e" are 4194305 bytes of JSON; 4194304 may be!$/);
  });
});

describe("a step that throws", () => {
  it("fails the attempt by the policy of the job, and records nothing", async () => {
    const { sent, end } = await endOf(({ step }) => step.run("a", () => Promise.reject(new RangeError("no"))));
    assert.deepEqual([sent, end], [[], "FAILED RangeError: no"]);
  });

  it("runs again in place, with a longer wait each time", async () => {
    const scene = new StepScene();
    const callsAt: number[] = [];
    const fail = () => {
      callsAt.push(scene.runtime.now() - startMs);
      if (callsAt.length < 4) throw new Error(`no ${callsAt.length}`);
      return "yes";
    };
    const startMs = scene.runtime.now();
    await scene.run(({ step }) => step.run("a", fail, { retries: 3 }));
    await scene.runtime.advance(10_000);
    assert.deepEqual(callsAt, [0, 250, 750, 1_750]);
    assert.deepEqual(await scene.store(), [{ number: 1, name: "a", data: '"yes"' }]);
    assert.equal(await scene.ending(), 'SUCCEEDED "yes"');
  });

  it("gives up after its retries, with the last error", async () => {
    const scene = new StepScene();
    let calls = 0;
    const fail = () => Promise.reject(new Error(`no ${++calls}`));
    await scene.run(({ step }) => step.run("a", fail, { retries: 2 }));
    await scene.runtime.advance(10_000);
    assert.equal(await scene.ending(), "FAILED Error: no 3");
  });

  it("does not run again where its error is terminal or the signal has aborted", async () => {
    const { end } = await endOf(({ step }) =>
      step.run("a", () => Promise.reject(new TerminalError("never")), { retries: 9 }),
    );
    assert.equal(end, "FAILED TerminalError: never!");
    const scene = new StepScene();
    let calls = 0;
    await scene.run(({ step }) => step.run("a", () => Promise.reject(new Error(`no ${++calls}`)), { retries: 9 }));
    scene.link.connection.say({ cancels: [{ token: { executionId: "e", attempt: 1, shard: 7 }, reason: 1 }] });
    assert.match((await scene.ending()) ?? "", /^CANCELLED AbortError: attempt e:1 was aborted: CANCELLED/);
    await scene.runtime.advance(60_000);
    assert.equal(calls, 1);
  });

  it("gives its own error where it ends because the signal aborts", async () => {
    const scene = new StepScene();
    await scene.run(({ step, signal }) => {
      const wait = () => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cut"))));
      return step.run("a", wait, { retries: 9 });
    });
    scene.link.connection.say({ cancels: [{ token: { executionId: "e", attempt: 1, shard: 7 }, reason: 1 }] });
    assert.equal(await scene.ending(), "CANCELLED Error: cut");
  });

  it("does not run again when its handler has ended without it", async () => {
    const scene = new StepScene();
    let calls = 0;
    await scene.run(({ step }) => {
      void step.run("a", () => Promise.reject(new Error(`no ${++calls}`)), { retries: 9 });
      return "done";
    });
    assert.equal(await scene.ending(), 'SUCCEEDED "done"');
    await scene.runtime.advance(60_000);
    assert.equal(calls, 1);
  });

  it("keeps its slot among the steps of the execution free", async () => {
    const earlier = Array.from({ length: 999 }, (_, n) => ({ name: `old-${n}`, data: "1" }));
    const { end } = await endOf(async ({ step }) => {
      for (let n = 0; n < 5; n++) await step.run(["bad", n], () => 1n).catch(() => undefined);
      return await step.run("good", () => 1);
    }, earlier);
    assert.equal(end, "SUCCEEDED 1");
  });
});

describe("a handler without steps", () => {
  it("makes neither an object nor a field for them", async () => {
    const scene = new StepScene();
    await scene.run(() => "done");
    assert.equal(await scene.ending(), 'SUCCEEDED "done"');
    assert.ok(scene.messages.every(({ steps }) => steps.length === 0));
  });
});
