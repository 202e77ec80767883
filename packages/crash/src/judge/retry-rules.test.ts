import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Graph, givenDigest, givenValue, inputOf } from "../history/workflow-events.ts";
import { judge, type RuleName } from "./judge.ts";
import { graph, node } from "./testing/graphs.ts";
import { brokenBy, rulesBroken } from "./testing/rules-broken.ts";
import { Story } from "./testing/story.ts";
import type { WorkflowStory } from "./testing/workflow-story.ts";

const CHAIN = graph([node("a"), node("b", ["a"])]);
/** A workflow whose last node fails, and the same with a cause that is mended. */
const MENDED = graph([node("a"), node("b", ["a"]), node("c", ["b"])]);
const FAILS: Graph = { ...MENDED, nodes: MENDED.nodes.map((one) => ({ ...one, isDoomed: one.name === "c" })) };
const REFERS = graph([
  node("a", [], { isDoomed: true, allowFailure: true }),
  node("b", [], { refersTo: ["$input"] }),
  node("c", ["a FINISHED", "b"], { refersTo: ["a", "b"] }),
]);
const EITHER = graph([node("a"), node("b"), node("c", ["a", "b"], { join: "ANY", refersTo: ["a", "b"] })]);

const NOTHING = givenValue(null, null);
const INPUT = givenValue(inputOf("w"), inputOf("w").executionId);
const A = givenDigest("result of attempt 1", "w/a");
const B = givenDigest("result of attempt 1", "w/b");

function keptFrom(name: string, executionId = `w/${name}`) {
  return { [name]: { state: "SUCCEEDED" as const, keptFrom: { workflowId: "w", executionId }, because: null } };
}

/** Violations of a story in which the run fails at its last node, and is retried at 100. */
function brokenByRetry(tell: (retry: WorkflowStory) => unknown, again: string[] = []): RuleName[] {
  const story = new Story();
  const run = story.workflow("w", FAILS).submitted(0).did("a", 10, 20).did("b", 21, 30).failed("c", 31, 40);
  tell(run.ends("DEAD", 60).retry("again", MENDED, again).submitted(100));
  return rulesBroken(story.evidence());
}

describe("of retries, the judge", () => {
  it("has nothing to say against one that keeps what has succeeded, or runs it again because a client named it", () => {
    const kept = brokenByRetry((retry) =>
      retry.did("c", 110, 120).ends("SUCCEEDED", 130, { ...keptFrom("a"), ...keptFrom("b") }),
    );
    const named = brokenByRetry(
      (retry) => retry.did("b", 110, 120).did("c", 121, 130).ends("SUCCEEDED", 140, keptFrom("a")),
      ["b"],
    );
    assert.deepEqual([kept, named], [[], []]);
  });

  it("finds a kept node whose handler starts again, in a listed execution or in an unlisted one", () => {
    const listed = brokenByRetry((retry) =>
      retry.did("b", 110, 120).did("c", 121, 130).ends("SUCCEEDED", 140, keptFrom("a")),
    );
    const unlisted = brokenByRetry((retry) => {
      retry.did("c", 110, 120).ends("SUCCEEDED", 130, { ...keptFrom("a"), ...keptFrom("b") });
      retry.node("b").ran({ attempt: 1, from: 105, to: 108 }).ends("SUCCEEDED");
    });
    assert.deepEqual(listed, ["retriesKeepWhatSucceeded"]);
    assert.ok(unlisted.includes("retriesKeepWhatSucceeded"), String(unlisted));
  });

  it("finds a node that is kept although a node before it runs again, and one whose success no worker wrote down", () => {
    const stale = brokenByRetry(
      (retry) => retry.did("a", 110, 115).did("c", 121, 130).ends("SUCCEEDED", 140, keptFrom("b")),
      ["a"],
    );
    const other = brokenByRetry((retry) =>
      retry.did("c", 110, 120).ends("SUCCEEDED", 130, { ...keptFrom("a"), ...keptFrom("b", "elsewhere") }),
    );
    const failed = brokenByRetry((retry) =>
      retry.ends("SUCCEEDED", 130, { ...keptFrom("a"), ...keptFrom("b"), ...keptFrom("c") }),
    );
    assert.ok(stale.includes("retriesKeepWhatSucceeded"), String(stale));
    assert.deepEqual(other, ["retriesKeepWhatSucceeded"]);
    assert.ok(failed.includes("retriesKeepWhatSucceeded"), String(failed));
  });

  it("finds a retry that nobody asked for, one that is made twice, and one that is lost", () => {
    const story = new Story();
    const run = story.workflow("w", FAILS).submitted(0).did("a", 10, 20).did("b", 21, 30).failed("c", 31, 40);
    run.ends("DEAD", 60).retry("again", MENDED).did("c", 110, 120).ends("SUCCEEDED", 130, keptFrom("a"));
    const twice = brokenByRetry((retry) => {
      const others = { ...keptFrom("a"), ...keptFrom("b") };
      retry.did("c", 110, 120).ends("SUCCEEDED", 130, others).ends("SUCCEEDED", 130, others, "other");
    });
    const lost = brokenByRetry(() => undefined);
    assert.ok(rulesBroken(story.evidence()).includes("workflowsTakeEffectOnce"));
    assert.ok(twice.includes("workflowsTakeEffectOnce"), String(twice));
    assert.deepEqual(lost, ["workflowsTakeEffectOnce", "acceptedRunsEnd"]);
  });

  it("finds a node of a retry that starts before the one before it, and after the kept ones alone none", () => {
    const early = brokenByRetry(
      (retry) => retry.did("b", 110, 120).did("c", 119, 130).ends("SUCCEEDED", 140, keptFrom("a")),
      ["b"],
    );
    assert.deepEqual(early, ["nodesFollowTheirParents"]);
  });
});

describe("of references, the judge", () => {
  function refers(given: Record<string, string>, ofB: Record<string, string> = { $input: INPUT }) {
    return brokenBy(REFERS, (run) => {
      run.failed("a", 10, 20);
      run.node("b").ran({ attempt: 1, from: 10, to: 20, given: ofB }).ends("SUCCEEDED");
      run.node("c").ran({ attempt: 1, from: 21, to: 30, given }).ends("SUCCEEDED");
      run.ends("SUCCEEDED", 40);
    });
  }

  it("wants the results that handlers returned, the input, and null for a node that failed", () => {
    assert.deepEqual(refers({ a: NOTHING, b: B }), []);
    const wrong = [
      refers({ a: NOTHING, b: NOTHING }),
      refers({ a: NOTHING, b: givenDigest("result of attempt 2", "w/b") }),
      refers({ a: NOTHING, b: givenDigest("result of attempt 1", "v/b") }),
      refers({ a: A, b: B }),
      refers({ b: B }),
      refers({ a: NOTHING, b: B }, { $input: NOTHING }),
    ];
    assert.deepEqual(
      wrong,
      wrong.map(() => ["referencesAreTrue"]),
    );
  });

  it("allows null for a parent for which the node does not wait, and no other value", () => {
    const either = (given: Record<string, string>) =>
      brokenBy(EITHER, (run) => {
        run.did("a", 10, 20).did("b", 10, 40);
        run.node("c").ran({ attempt: 1, from: 21, to: 30, given }).ends("SUCCEEDED");
        run.ends("SUCCEEDED", 60);
      });
    assert.deepEqual([either({ a: A, b: NOTHING }), either({ a: A, b: B })], [[], []]);
    assert.deepEqual(either({ a: A, b: A }), ["referencesAreTrue"]);
  });

  it("wants every attempt to get the same, and a retry to get the results of kept nodes", () => {
    const attempts = brokenBy(REFERS, (run) => {
      run.failed("a", 10, 20);
      run
        .node("b")
        .ran({ attempt: 1, from: 10, to: 20, given: { $input: INPUT } })
        .ends("SUCCEEDED");
      const last = run.node("c").ran({ attempt: 1, from: 21, to: 30, as: "FAILED", given: { a: NOTHING, b: NOTHING } });
      last.ran({ attempt: 2, from: 31, to: 40, given: { a: NOTHING, b: B } }).ends("SUCCEEDED");
      run.ends("SUCCEEDED", 50);
    });
    assert.deepEqual(attempts, ["referencesAreTrue"]);
    const retried = (value: string) => {
      const refersTo = (doomed: boolean) => graph([node("a"), node("b", ["a"], { refersTo: ["a"], isDoomed: doomed })]);
      const story = new Story();
      const run = story.workflow("w", refersTo(true)).submitted(0).did("a", 10, 20);
      run
        .node("b")
        .ran({ attempt: 1, from: 21, to: 30, as: "FAILED", given: { a: A } })
        .ends("DEAD");
      const retry = run.ends("DEAD", 40).retry("again", refersTo(false)).submitted(100);
      retry
        .node("b")
        .ran({ attempt: 1, from: 110, to: 120, given: { a: value } })
        .ends("SUCCEEDED");
      retry.ends("SUCCEEDED", 130, keptFrom("a"));
      return rulesBroken(story.evidence());
    };
    assert.deepEqual([retried(A), retried(NOTHING)], [[], ["referencesAreTrue"]]);
  });

  it("wants the output of a run that SUCCEEDED, and no result of any other run", () => {
    const output = { ...CHAIN, output: "b" };
    const done = (run: WorkflowStory) => run.did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    assert.deepEqual(brokenBy(output, done), []);
    const story = new Story();
    done(story.workflow("w", CHAIN).submitted(0));
    const evidence = story.evidence();
    const executions = evidence.executions.map((one) =>
      one.executionId === "w" ? { ...one, resultSha: "some" } : one,
    );
    assert.deepEqual(rulesBroken({ ...evidence, executions, listedLater: executions }), ["outputsAreTrue"]);
  });
});

describe("of pauses, the judge", () => {
  const chain = (from: number, to: number | null, startedAt: number) =>
    brokenBy(CHAIN, (run) =>
      run
        .paused(from, to)
        .did("a", 10, 20)
        .did("b", startedAt, startedAt + 10)
        .ends("SUCCEEDED", 100),
    );

  it("wants no node to start in a pause in which it became ready, and none at all if nobody resumes the run", () => {
    assert.deepEqual(
      [chain(15, 50, 51), chain(15, 50, 49), chain(15, null, 60)],
      [[], ["pausedRunsStartNothing"], ["pausedRunsStartNothing"]],
    );
  });

  it("allows a start of a node that a worker may have had before the pause", () => {
    assert.deepEqual(chain(25, 50, 30), []);
  });

  it("wants no further attempt of a node to start in the pause in which the attempt before ended", () => {
    const again = (startedAt: number) =>
      brokenBy(CHAIN, (run) => {
        run
          .paused(15, 50)
          .node("a")
          .ran({ attempt: 1, from: 10, to: 20, as: "FAILED" })
          .ran({ attempt: 2, from: startedAt, to: 60 })
          .ends("SUCCEEDED");
        run.did("b", 61, 70).ends("SUCCEEDED", 100);
      });
    assert.deepEqual([again(51), again(30)], [[], ["pausedRunsStartNothing"]]);
  });
});

it("the judge wants to see a retry that keeps a node, and a pause that holds one", () => {
  const rules = ["retriesHappened", "pausesHappened"];
  const missing = (tell: (run: WorkflowStory) => WorkflowStory, retries: boolean) => {
    const story = new Story();
    const run = tell(story.workflow("w", FAILS).submitted(0).did("a", 10, 20));
    run.did("b", 31, 35).failed("c", 41, 50).ends("DEAD", 60);
    const retry = run.retry("again", MENDED).submitted(100);
    if (retries) retry.did("c", 110, 120).ends("SUCCEEDED", 130, { ...keptFrom("a"), ...keptFrom("b") });
    const { violations, figures } = judge(story.evidence(), "crash");
    const found = violations.map(({ rule }) => rule).filter((rule) => rules.includes(rule));
    return [found, figures["attemptsHeldByPauses"], figures["nodesKept"]];
  };
  assert.deepEqual(
    missing((run) => run.paused(15, 30), true),
    [[], 1, 2],
  );
  assert.deepEqual(
    missing((run) => run, false),
    [rules, 0, 0],
  );
});
