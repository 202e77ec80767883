import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "../history/digest.ts";
import { judge, type RuleName } from "./judge.ts";
import { Story } from "./testing/story.ts";

const RULES: readonly RuleName[] = [
  "recordedStepsAreKept",
  "stepsRepeatOnlyLosses",
  "stepsHaveOneResult",
  "resultsHoldTheSteps",
  "checkpointsNeverGoBack",
  "sleepsAreNotShort",
  "signalsAreConsumedOnce",
  "signalsAreAcceptedOnce",
  "signalsInTimeCount",
];
type Job = ReturnType<Story["job"]>;
type When = { attempt: number; at: number };

/** Rules about steps that a story breaks. Its last attempt is the second one, which succeeds with the values that it knew. */
function broken(
  tell: (job: Job) => unknown,
  known: readonly string[] = [],
  first: "WORKER_LOST" | "SUSPENDED" = "WORKER_LOST",
) {
  const story = new Story();
  const job = story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 90, as: first, declaredAt: 100 });
  job.ran({ attempt: 2, from: 200, to: 300 });
  tell(job);
  job.ends("SUCCEEDED", digestOf({ key: "a", executionId: "a", attempt: 2, pid: 1, known: [...known].sort() }));
  const rules = judge(story.evidence(), "crash").violations.map(({ rule }) => rule);
  return [...new Set(rules)].filter((rule) => RULES.includes(rule));
}

const waits = (step: string, when: When, signal: string | null = "go", forMs = 1_000) =>
  ({ event: "WAIT_BEGAN", ...when, step, signal, forMs }) as const;
const checkpoint = (event: "READ" | "ASKED" | "KNOWN", value: number, when: When) =>
  ({ event: `CHECKPOINT_${event}`, ...when, value }) as const;
const FIRST = { attempt: 1, at: 20 };
const SECOND = { attempt: 2, at: 210 };

describe("of durable steps, the judge has nothing to say against", () => {
  it("a recorded step whose result the next attempt gets", () => {
    const story = (job: Job) => job.effect("a", FIRST).knew("a", "a of attempt 1", SECOND);
    assert.deepEqual(broken(story, ["a of attempt 1"]), []);
  });

  it("a second effect of a step whose worker was lost before the acknowledgement", () => {
    const story = (job: Job) => job.effect("a", { ...FIRST, isKnown: false }).effect("a", SECOND);
    assert.deepEqual(broken(story, ["a of attempt 2"]), []);
  });

  it("a record that was stored, whose acknowledgement the lost worker did not see", () => {
    const story = (job: Job) => job.effect("a", { ...FIRST, isKnown: false }).knew("a", "a of attempt 1", SECOND);
    assert.deepEqual(broken(story, ["a of attempt 1"]), []);
  });

  it("the late effect of an attempt that was declared lost, after a later one has recorded the step", () => {
    const story = (job: Job) => job.effect("a", { attempt: 1, at: 400, isKnown: false }).effect("a", SECOND);
    assert.deepEqual(broken(story, ["a of attempt 2"]), []);
  });

  it("a signal before its wait, and another one after its wait, which a later step gets", () => {
    const story = (job: Job) => {
      job.signalled("s", 5).told(waits("a", FIRST)).knew("a", "s", SECOND);
      job
        .told(waits("b", FIRST, "go", 100))
        .knew("b", null, { attempt: 2, at: 215 })
        .signalled("t", 220)
        .signalled("t", 230, true);
      job.told(waits("c", SECOND)).knew("c", "t", { attempt: 2, at: 240 });
    };
    assert.deepEqual(broken(story, ["s", "t"], "SUSPENDED"), []);
  });

  it("a checkpoint that is newer than the newest one of which the lost worker heard", () => {
    const story = (job: Job) =>
      job.told(
        checkpoint("READ", 0, FIRST),
        checkpoint("ASKED", 1, FIRST),
        checkpoint("KNOWN", 1, FIRST),
        checkpoint("ASKED", 2, FIRST),
        checkpoint("READ", 2, SECOND),
      );
    assert.deepEqual(broken(story), []);
  });
});

describe("of durable steps, the judge finds", () => {
  it("a recorded step that runs again", () => {
    const story = (job: Job) => job.effect("a", FIRST).effect("a", SECOND);
    const rules = ["recordedStepsAreKept", "stepsRepeatOnlyLosses", "stepsHaveOneResult"];
    assert.deepEqual(broken(story, ["a of attempt 2"]), rules);
  });

  it("a step that runs again although no worker was lost", () => {
    const story = (job: Job) => job.effect("a", { ...FIRST, isKnown: false }).effect("a", SECOND);
    assert.deepEqual(broken(story, ["a of attempt 2"], "SUSPENDED"), ["stepsRepeatOnlyLosses"]);
  });

  it("a step that runs twice in one attempt", () => {
    const story = (job: Job) => job.effect("a", { ...SECOND, isKnown: false }).effect("a", SECOND);
    assert.deepEqual(broken(story, ["a of attempt 2"]), ["stepsRepeatOnlyLosses"]);
  });

  it("a result that no effect had, and another result than the one before", () => {
    const strange = (job: Job) => job.effect("a", { ...SECOND, isKnown: false }).knew("a", "x", SECOND);
    const other = (job: Job) =>
      job
        .told(waits("a", FIRST, null, 0))
        .knew("a", "x", FIRST)
        .knew("a", "y", SECOND);
    assert.deepEqual([broken(strange, ["x"]), broken(other, ["y"])], [["stepsHaveOneResult"], ["stepsHaveOneResult"]]);
  });

  it("the effect of a later attempt as the result of an earlier one", () => {
    const story = (job: Job) => job.knew("a", "a of attempt 2", FIRST).effect("a", { ...SECOND, isKnown: false });
    assert.ok(broken(story).includes("stepsHaveOneResult"));
  });

  it("a result of the execution that is not made of its steps", () => {
    assert.deepEqual(
      broken((job) => job.effect("a", SECOND), ["another"]),
      ["resultsHoldTheSteps"],
    );
  });

  it("a checkpoint that goes back, and one that nobody wrote", () => {
    const from = [checkpoint("ASKED", 2, FIRST), checkpoint("KNOWN", 2, FIRST)];
    const found = [1, 2, 3].map((value) => broken((job) => job.told(...from, checkpoint("READ", value, SECOND))));
    assert.deepEqual(found, [["checkpointsNeverGoBack"], [], ["checkpointsNeverGoBack"]]);
  });

  it("a checkpoint that goes back although nobody heard of the newest one", () => {
    const story = (job: Job) =>
      job.told(
        checkpoint("ASKED", 1, { attempt: 0, at: 5 }),
        checkpoint("READ", 1, FIRST),
        checkpoint("READ", 0, SECOND),
      );
    assert.deepEqual(broken(story), ["checkpointsNeverGoBack"]);
  });

  it("a sleep that is over too early, counted from the first attempt that came to it", () => {
    const slept = (forMs: number) =>
      broken((job) =>
        job.told(waits("a", FIRST, null, forMs), waits("a", SECOND, null, forMs)).knew("a", null, SECOND),
      );
    assert.deepEqual([slept(190), slept(191)], [[], ["sleepsAreNotShort"]]);
  });

  it("a signal that two steps consumed, or none, or that was never sent", () => {
    const twice = (job: Job) =>
      job.signalled("s", 5).told(waits("a", SECOND), waits("b", SECOND)).knew("a", "s", SECOND).knew("b", "s", SECOND);
    const strange = (job: Job) => job.told(waits("a", SECOND)).knew("a", "s", SECOND);
    const found = [broken(twice, ["s", "s"]), broken((job) => job.signalled("s", 5)), broken(strange, ["s"])];
    assert.deepEqual(
      found,
      found.map(() => ["signalsAreConsumedOnce"]),
    );
  });

  it("a signal that was accepted twice", () => {
    const story = (isRepeated: boolean) => (job: Job) =>
      job.signalled("s", 5).signalled("s", 7, isRepeated).told(waits("a", SECOND)).knew("a", "s", SECOND);
    assert.deepEqual([broken(story(true), ["s"]), broken(story(false), ["s"])], [[], ["signalsAreAcceptedOnce"]]);
  });

  it("a wait in vain for a signal that had come in time", () => {
    const story = (forMs: number, cameAt: number) => (job: Job) =>
      job
        .told(waits("a", FIRST, "go", forMs), waits("b", SECOND))
        .signalled("s", cameAt)
        .knew("a", null, SECOND)
        .knew("b", "s", { attempt: 2, at: 220 });
    const found = [
      broken(story(150, 90), ["s"], "SUSPENDED"),
      // The signal came after the end of the attempt before, or after the end of the wait.
      broken(story(150, 110), ["s"], "SUSPENDED"),
      broken(story(50, 90), ["s"], "SUSPENDED"),
    ];
    assert.deepEqual(found, [["signalsInTimeCount"], [], []]);
  });
});

describe("of durable steps, the judge wants to see", () => {
  it("signals before, during and after waits for them", () => {
    const story = new Story();
    const job = story.job("a").submitted(0);
    const missing = () =>
      judge(story.evidence(), "crash").violations.flatMap(({ what }) => what.match(/came (.*) a wait/)?.[1] ?? []);
    const seen = [missing()];
    job.signalled("s", 5).told(waits("a", FIRST)).knew("a", "s", FIRST);
    seen.push(missing());
    job.signalled("t", 30).told(waits("b", FIRST)).knew("b", "t", { attempt: 1, at: 40 });
    seen.push(missing());
    job
      .told(waits("c", SECOND, "go", 1))
      .knew("c", null, SECOND)
      .signalled("u", 230);
    seen.push(missing());
    assert.deepEqual(seen, [["before", "during", "after"], ["during", "after"], ["after"], []]);
  });

  it("an execution that lost its worker after a recorded step, and succeeded with it", () => {
    const seen = (first: "WORKER_LOST" | "SUSPENDED") => {
      const story = new Story();
      const job = story.job("a").submitted(0).ran({ attempt: 1, from: 10, to: 90, as: first, declaredAt: 100 });
      job.effect("a", FIRST).ran({ attempt: 2, from: 200, to: 300 }).ends("SUCCEEDED");
      const { violations, figures } = judge(story.evidence(), "crash");
      return [violations.some(({ rule }) => rule === "stepsOutliveTheirWorker"), figures["steppedAndLost"]];
    };
    assert.deepEqual(
      [seen("WORKER_LOST"), seen("SUSPENDED")],
      [
        [false, 1],
        [true, 0],
      ],
    );
  });
});
