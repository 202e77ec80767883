import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judge } from "./judge.ts";
import { rulesBroken } from "./testing/rules-broken.ts";
import { Story } from "./testing/story.ts";

/** A run with one job that has run. */
const withJob = (key: string, story = new Story()): Story => {
  story.job(key).intended(0).ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
  return story;
};

describe("the judge of requests has nothing to say against", () => {
  it("a committed request that was taken in, also twice with one idempotency key", () => {
    const story = withJob("a").requested("a", "r", "COMMITTED").requested("a", "again", "COMMITTED");
    story.shown("r", "a").shown("again", "a");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a wrong job that was refused, and a request that was rolled back and is not there", () => {
    const story = new Story().requested("w", "r", "COMMITTED", { isWrong: true }).shown("r", null);
    story.job("b").intended(0);
    story.requested("b", "s", "ROLLED_BACK");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a transaction whose end nobody knows, whether it has committed or not", () => {
    const story = withJob("a").requested("a", "r", "OPEN").shown("r", "a");
    story.job("b").intended(0);
    story.requested("b", "s", "OPEN");
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });
});

describe("the judge of requests finds", () => {
  const cases: [string, Story, readonly string[]][] = [
    ["a committed request that is lost", new Story().requested("a", "r", "COMMITTED"), ["requestsAreDecided"]],
    [
      "a committed request that is not decided",
      new Story()
        .requested("a", "r", "COMMITTED")
        .shown("r", "x", { state: "ACCEPTED", jobId: null, executionId: null }),
      ["requestsAreDecided"],
    ],
    [
      "a right job that is refused",
      new Story().requested("a", "r", "COMMITTED").shown("r", null),
      ["requestsAreDecided"],
    ],
    [
      "a refusal without a reason",
      new Story().requested("a", "r", "COMMITTED", { isWrong: true }).shown("r", null, { problem: null }),
      ["requestsAreDecided"],
    ],
    [
      "a wrong job that was taken in",
      withJob("a").requested("a", "r", "COMMITTED", { isWrong: true }).shown("r", "a"),
      ["requestsAreDecided"],
    ],
    [
      "a request that was taken in as a job that does not exist",
      new Story().requested("a", "r", "COMMITTED").shown("r", "a"),
      ["requestsAreDecided"],
    ],
    [
      "a request that was taken in as the job of another one",
      withJob("a").requested("a", "r", "COMMITTED").shown("r", "a").requested("b", "s", "COMMITTED").shown("s", "a"),
      ["requestsAreDecided"],
    ],
    [
      "a request that was rolled back, and is there",
      withJob("a").requested("a", "r", "ROLLED_BACK").shown("r", "a"),
      ["rolledBackRequestsAreGone"],
    ],
    [
      "a job of a request that was rolled back",
      withJob("a").requested("a", "r", "ROLLED_BACK").shown("x", null),
      ["rolledBackRequestsAreGone"],
    ],
    ["a request that nobody wrote", new Story().shown("r", null), ["rolledBackRequestsAreGone"]],
    [
      "two jobs of one idempotency key",
      (() => {
        const story = withJob("a");
        story.job("a", {}, "other").ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
        return story
          .requested("a", "r", "COMMITTED")
          .requested("a", "again", "COMMITTED")
          .shown("r", "a")
          .shown("again", "other");
      })(),
      ["ordersTakeEffectOnce", "requestsMakeOneJob"],
    ],
  ];
  for (const [what, story, broken] of cases) {
    it(what, () => assert.deepEqual(rulesBroken(story.evidence()), broken));
  }

  it("a run in which no transaction met a fault", () => {
    const { violations } = judge(new Story().requested("a", "r", "ROLLED_BACK").shown("x", "a").evidence(), "crash");
    const shows = violations.filter(({ rule }) => rule === "requestsMetFaults").map(({ what }) => what);
    assert.deepEqual(shows, [
      "the run shows no requestsTakenIn",
      "the run shows no requestsRefused",
      "the run shows no requestsOfDeadServers",
    ]);
  });
});
