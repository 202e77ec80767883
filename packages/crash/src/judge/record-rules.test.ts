import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judge } from "./judge.ts";
import { rulesBroken } from "./testing/rules-broken.ts";
import { Story } from "./testing/story.ts";

/** A run with one job that has run. */
const withJob = (key: string, story = new Story(), executionId = key): Story => {
  story.job(key, {}, executionId).intended(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
  return story;
};

describe("the judge of records has nothing to say against", () => {
  it("a record that was taken in, and the repeat of its key, which has the first one's job", () => {
    const story = withJob("a").accepted("a", "0-1").accepted("a", "3-7");
    assert.deepEqual(rulesBroken(story.shown("0-1", "a").shown("3-7", "a").ofRecords("kafka")), []);
  });

  it("another job with the same key that was refused, and told of", () => {
    const story = withJob("a").accepted("a", "0-1").accepted("a", "0-2", { isWrong: true });
    assert.deepEqual(rulesBroken(story.shown("0-1", "a").shown("0-2", null).ofRecords("kafka", ["0-2"])), []);
  });

  it("a record of a unique key that another job's execution holds", () => {
    const story = withJob("a").accepted("b", "0-1").shown("0-1", "a", { deduplicated: true });
    story.job("b", { uniqueKey: "u" }).intended(0);
    assert.deepEqual(rulesBroken(story.ofRecords("kafka")), []);
  });
});

describe("the judge of records finds", () => {
  const cases: [string, Story, readonly string[]][] = [
    [
      "a position that was written before the job's row, whose server then died: the record is there, and its job is not",
      new Story().accepted("a", "0-1").shown("0-1", "a"),
      ["recordsAreDecided"],
    ],
    [
      "a position that was written without the fate of its record",
      withJob("a").accepted("a", "0-1").accepted("b", "0-2").shown("0-1", "a"),
      ["recordsAreDecided"],
    ],
    [
      "a record that nobody takes in",
      new Story().accepted("a", "0-1").shown("0-1", null, { state: "ACCEPTED", jobId: null, problem: null }),
      ["recordsAreDecided"],
    ],
    [
      "a job's row that was written before the position, whose server then died: the record was taken in twice",
      withJob("a", withJob("a"), "again").accepted("a", "0-1").shown("0-1", "again"),
      ["ordersTakeEffectOnce"],
    ],
    [
      "two records with one key that became two jobs",
      withJob("a", withJob("a"), "again")
        .accepted("a", "0-1")
        .accepted("a", "3-7")
        .shown("0-1", "a")
        .shown("3-7", "again"),
      ["ordersTakeEffectOnce", "recordsMakeOneJob"],
    ],
    [
      "a record that became another job than the one that the store had answered before",
      (() => {
        const story = withJob("a", withJob("a"), "again").accepted("a", "0-1").shown("0-1", "again");
        story.job("a").answered(5);
        return story;
      })(),
      ["ordersTakeEffectOnce", "recordsMakeOneJob"],
    ],
    ["a right job that was refused", new Story().accepted("a", "0-1").shown("0-1", null), ["recordsAreDecided"]],
    [
      "another job with the same key that was taken in",
      withJob("a").accepted("a", "0-1", { isWrong: true }).shown("0-1", "a"),
      ["recordsAreDecided"],
    ],
    [
      "a refusal without a reason",
      new Story().accepted("a", "0-1", { isWrong: true }).shown("0-1", null, { problem: null }),
      ["recordsAreDecided"],
    ],
    [
      "a record that was taken in as the job of another one",
      withJob("b").accepted("a", "0-1").shown("0-1", "b"),
      ["recordsAreDecided"],
    ],
  ];
  for (const [what, story, broken] of cases) {
    it(what, () => assert.deepEqual(rulesBroken(story.ofRecords("kafka", ["0-1", "0-2"])), broken));
  }

  it("a refusal that the topic of refused records lacks", () => {
    const story = withJob("a").accepted("a", "0-2", { isWrong: true }).shown("0-2", null);
    assert.deepEqual(rulesBroken(story.ofRecords("kafka", ["0-1"])), ["refusalsAreTold"]);
  });

  it("a run in which no record met a fault", () => {
    const shows = (mode: "fallback" | "kafka") => {
      const evidence = withJob("a").accepted("a", "0-1", { at: 50 }).shown("0-1", "a").ofRecords(mode);
      const faults = [
        { event: "STORE_DOWN" as const, at: 10, pid: 9 },
        { event: "STORE_READY" as const, at: 40, pid: 9 },
      ];
      const { violations } = judge({ ...evidence, faults }, "chaos");
      return violations.filter(({ rule }) => rule === "recordsMetFaults").map(({ what }) => what);
    };
    assert.deepEqual(shows("fallback"), ["the run shows no recordsInOutages"]);
    assert.deepEqual(shows("kafka"), [
      "the run shows no recordsRefused",
      "the run shows no recordsRepeated",
      "the run shows no recordsInOutages",
      "the run shows no recordsOfDeadServers",
    ]);
  });
});
