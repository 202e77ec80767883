import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Graph } from "../history/workflow-events.ts";
import { judge } from "./judge.ts";
import { graph, node } from "./testing/graphs.ts";
import { brokenBy, rulesBroken } from "./testing/rules-broken.ts";
import { Story } from "./testing/story.ts";
import type { WorkflowStory } from "./testing/workflow-story.ts";

const CHAIN = graph([node("a"), node("b", ["a"])]);
const BOTH = graph([node("a"), node("b"), node("c", ["a", "b"])]);
const EITHER = graph([node("a"), node("b"), node("c", ["a", "b"], { join: "ANY" })]);
const BRANCHES = graph([
  node("a", [], { branch: "x" }),
  node("x", ["a BRANCH:x"]),
  node("y", ["a BRANCH:y"]),
  node("end", ["x FINISHED", "y FINISHED"]),
]);
const FAILS = graph([node("a", [], { isDoomed: true }), node("b"), node("c", ["b"]), node("rescue", ["a FAILED"])]);
const GOES_ON: Graph = { ...FAILS, onFailure: "CONTINUE" };
const ALLOWED = graph([
  node("a", [], { isDoomed: true, allowFailure: true }),
  node("b", ["a"]),
  node("c", ["a FINISHED"]),
]);

describe("of workflows, the judge has nothing to say against", () => {
  it("nodes that follow their parents: all, the first, or those of one branch", () => {
    const found = [
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).did("b", 20, 30).ends("SUCCEEDED", 40).seenFinal(50, "SUCCEEDED")),
      brokenBy(BOTH, (run) => run.did("a", 10, 20).did("b", 10, 40).did("c", 41, 50).ends("SUCCEEDED", 60)),
      brokenBy(EITHER, (run) => run.did("a", 10, 20).did("b", 10, 40).did("c", 21, 30).ends("SUCCEEDED", 60)),
      brokenBy(BRANCHES, (run) => run.did("a", 10, 20).did("x", 21, 30).did("end", 31, 40).ends("SUCCEEDED", 60)),
    ];
    assert.deepEqual(
      found,
      found.map(() => []),
    );
  });

  it("runs with a failed node: those that fail fast, those that go on, and those that allow it", () => {
    const found = [
      brokenBy(FAILS, (run) => {
        run.failed("a", 10, 20).did("b", 10, 30).did("rescue", 21, 30);
        run.ends("DEAD", 60);
      }),
      brokenBy(GOES_ON, (run) =>
        run.failed("a", 10, 20).did("b", 10, 30).did("c", 31, 35).did("rescue", 21, 30).ends("DEAD", 60),
      ),
      brokenBy(ALLOWED, (run) => run.failed("a", 10, 20).did("c", 21, 30).ends("SUCCEEDED", 60)),
    ];
    assert.deepEqual(
      found,
      found.map(() => []),
    );
  });

  it("a node that was cancelled because another one failed", () => {
    const found = brokenBy(FAILS, (run) => {
      run.failed("a", 10, 20).did("rescue", 21, 30);
      run.node("b").ran({ attempt: 1, from: 10, to: 25, as: "CANCELLED" }).ends("CANCELLED");
      run.ends("DEAD", 60);
    });
    assert.deepEqual(found, []);
  });

  it("a node that another worker does again, and the late end of the first one", () => {
    const found = brokenBy(CHAIN, (run) => {
      const again = run.node("a").ran({ attempt: 1, pid: 1, from: 10, to: 90, as: "WORKER_LOST", declaredAt: 30 });
      again.ran({ attempt: 2, pid: 2, from: 31, to: 40 }).ends("SUCCEEDED");
      run.did("b", 41, 50).ends("SUCCEEDED", 60);
    });
    assert.deepEqual(found, []);
  });

  it("a workflow that nobody acknowledged, whether it took effect or not", () => {
    const story = new Story();
    story.workflow("w", CHAIN).intended(0);
    story.workflow("v", CHAIN).intended(0).did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });

  it("a run whose unique key another workflow held before", () => {
    const unique = { ...CHAIN, uniqueKey: "u" };
    const story = new Story();
    story.workflow("w", unique).submitted(0).did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    story.workflow("v", unique).intended(15).answered(16, "w", true);
    story.workflow("u", unique).submitted(50).did("a", 60, 70).did("b", 71, 80).ends("SUCCEEDED", 90);
    assert.deepEqual(rulesBroken(story.evidence()), []);
  });
});

describe("of workflows, the judge finds", () => {
  it("a node that begins before the ends of its parents", () => {
    const found = [
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).did("b", 19, 30).ends("SUCCEEDED", 40)),
      brokenBy(BOTH, (run) => run.did("a", 10, 20).did("b", 10, 40).did("c", 39, 50).ends("SUCCEEDED", 60)),
      brokenBy(EITHER, (run) => run.did("a", 10, 20).did("b", 10, 40).did("c", 19, 30).ends("SUCCEEDED", 60)),
      brokenBy(FAILS, (run) => run.failed("a", 10, 20).did("b", 10, 30).did("rescue", 19, 30).ends("DEAD", 60)),
      brokenBy(ALLOWED, (run) => run.failed("a", 10, 20).did("c", 19, 30).ends("SUCCEEDED", 60)),
      brokenBy(BRANCHES, (run) => run.did("a", 10, 20).did("x", 21, 30).did("end", 29, 40).ends("SUCCEEDED", 60)),
    ];
    assert.deepEqual(
      found,
      found.map(() => ["nodesFollowTheirParents"]),
    );
  });

  it("a node that begins after a refused end of its parent, before the accepted one", () => {
    const found = brokenBy(CHAIN, (run) => {
      const again = run.node("a").ran({ attempt: 1, pid: 1, from: 10, to: 35, as: "WORKER_LOST", declaredAt: 30 });
      again.ran({ attempt: 2, pid: 2, from: 31, to: 40 }).ends("SUCCEEDED");
      run.did("b", 39, 50).ends("SUCCEEDED", 60);
    });
    assert.deepEqual(found, ["nodesFollowTheirParents"]);
  });

  it("a node whose parents never met its condition: another branch, a success, a failure", () => {
    const found = [
      brokenBy(BRANCHES, (run) =>
        run.did("a", 10, 20).did("x", 21, 30).did("y", 21, 30).did("end", 31, 40).ends("SUCCEEDED", 60),
      ),
      brokenBy(FAILS, (run) => {
        run.did("a", 10, 20).did("b", 10, 30).did("c", 31, 40).did("rescue", 21, 30);
        run.ends("SUCCEEDED", 60);
      }),
      brokenBy(ALLOWED, (run) => run.failed("a", 10, 20).did("b", 21, 30).did("c", 21, 30).ends("SUCCEEDED", 60)),
    ];
    assert.deepEqual(
      found,
      found.map(() => ["nodesFollowTheirParents"]),
    );
  });

  it("a node with two executions, by its workers or by the answer to the submit", () => {
    const twice = brokenBy(CHAIN, (run) => {
      run.node("a", "strange").ran({ attempt: 1, from: 5, to: 8 }).ends("SUCCEEDED");
      run.did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    });
    const other = brokenBy(CHAIN, (run) => {
      run.node("a", "strange").ran({ attempt: 1, from: 10, to: 20 }).ends("SUCCEEDED");
      run.did("b", 21, 30).ends("SUCCEEDED", 40);
    });
    assert.ok(twice.includes("nodesAreOneExecution"));
    assert.deepEqual(other, ["nodesAreOneExecution"]);
  });

  it("a node whose execution succeeded twice", () => {
    const found = brokenBy(CHAIN, (run) => {
      run.node("a").ran({ attempt: 1, from: 10, to: 20 }).ran({ attempt: 2, from: 30, to: 40 }).ends("SUCCEEDED");
      run.did("b", 41, 50).ends("SUCCEEDED", 60);
    });
    assert.ok(found.includes("nodesAreOneExecution"));
  });

  it("a run that ends without a node that its parents called for", () => {
    const found = [
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).ends("SUCCEEDED", 40)),
      brokenBy(EITHER, (run) => run.did("a", 10, 20).did("b", 10, 20).ends("SUCCEEDED", 40)),
      brokenBy(BRANCHES, (run) => run.did("a", 10, 20).did("x", 21, 30).ends("SUCCEEDED", 60)),
      brokenBy(GOES_ON, (run) => run.failed("a", 10, 20).did("b", 10, 30).did("rescue", 21, 30).ends("DEAD", 60)),
      brokenBy(FAILS, (run) => run.failed("a", 10, 20).did("b", 10, 30).did("c", 31, 35).ends("DEAD", 60)),
    ];
    assert.deepEqual(
      found,
      found.map(() => ["endedRunsAreComplete"]),
    );
  });

  it("a node that begins after its run has failed, but not a late start of a stopped worker", () => {
    const story = (as: "SUCCEEDED" | "WORKER_LOST") => (run: WorkflowStory) => {
      run.failed("a", 10, 20).did("rescue", 21, 30);
      const late = run.node("b");
      if (as === "SUCCEEDED") late.ran({ attempt: 1, from: 61, to: 70 }).ends("SUCCEEDED");
      else {
        late.ran({ attempt: 1, pid: 1, from: 61, to: 70, as, declaredAt: 25 });
        late.ran({ attempt: 2, pid: 2, from: 26, to: 29, as: "CANCELLED" }).ends("CANCELLED");
      }
      run.ends("DEAD", 60);
    };
    assert.deepEqual(
      [brokenBy(FAILS, story("SUCCEEDED")), brokenBy(FAILS, story("WORKER_LOST"))],
      [["endedRunsStartNothing"], []],
    );
  });

  it("an accepted run that is lost, one that never ends, and a node that never ends", () => {
    const lost = brokenBy(CHAIN, () => undefined);
    const open = brokenBy(CHAIN, (run) => run.did("a", 10, 20).did("b", 21, 30).ends("RUNNING", 40));
    const living = brokenBy(CHAIN, (run) => {
      run
        .did("a", 10, 20)
        .did("b", 21, 30)
        .ends("SUCCEEDED", 40, { b: { state: "RUNNING" } });
    });
    assert.deepEqual(lost, ["workflowsTakeEffectOnce", "acceptedRunsEnd"]);
    assert.deepEqual(open, ["everythingIsFinal", "acceptedRunsEnd"]);
    assert.deepEqual(living, ["acceptedRunsEnd", "runsAgreeWithHandlers"]);
  });

  it("a workflow that was refused, made twice, made for nobody, or answered in two ways", () => {
    const done = (run: WorkflowStory, id = "w") => run.did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40, {}, id);
    const found = [
      brokenBy(CHAIN, (run) => done(run.refused(5))),
      brokenBy(CHAIN, (run) => done(run).ends("SUCCEEDED", 40, {}, "v")),
      brokenBy(CHAIN, (run) => done(run.answered(6, "v"))),
      brokenBy(CHAIN, (run) => done(run.answered(6), "v")),
    ];
    for (const rules of found) assert.equal(rules[0], "workflowsTakeEffectOnce");
    const story = new Story();
    story.workflow("w", CHAIN).did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    assert.deepEqual(rulesBroken(story.evidence()), ["workflowsTakeEffectOnce"]);
  });

  it("two runs of a unique key at once, and a duplicate of a run with another key", () => {
    const unique = { ...CHAIN, uniqueKey: "u" };
    const story = new Story();
    story.workflow("w", unique).submitted(0).did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    story.workflow("v", unique).submitted(0).did("a", 29, 32).did("b", 33, 35).ends("SUCCEEDED", 40);
    const other = new Story();
    other.workflow("w", CHAIN).submitted(0).did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40);
    other.workflow("v", unique).intended(15).answered(16, "w", true);
    assert.deepEqual(
      [rulesBroken(story.evidence()), rulesBroken(other.evidence())],
      [["uniqueRunsAreAlone"], ["uniqueRunsAreAlone"]],
    );
  });

  it("states of nodes that the files of the workers do not confirm", () => {
    const shows = (others: NonNullable<Parameters<WorkflowStory["ends"]>[2]>) =>
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40, others));
    const unrun = brokenBy(CHAIN, (run) => {
      run.did("a", 10, 20).node("b").recorded({ attempt: 1 }).ends("SUCCEEDED");
      run.ends("SUCCEEDED", 40);
    });
    const found = [
      shows({ b: { state: "SKIPPED" } }),
      shows({ b: { branch: "x" } }),
      shows({ b: null }),
      shows({ b: { executionId: "other" } }),
      unrun,
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).failed("b", 21, 30).ends("DEAD", 40)),
    ];
    for (const rules of found) assert.ok(rules.includes("runsAgreeWithHandlers"), String(rules));
  });

  it("a skipped node whose handler ran, and a cancelled one that nothing called for", () => {
    const skipped = brokenBy(FAILS, (run) => {
      run.failed("a", 10, 20).did("rescue", 21, 30);
      run.node("b").ran({ attempt: 1, from: 10, to: 25, as: "CANCELLED" }).ends("SKIPPED");
      run.ends("DEAD", 60);
    });
    const cancelled = brokenBy(GOES_ON, (run) => {
      run.failed("a", 10, 20).did("rescue", 21, 30);
      run.node("b").ran({ attempt: 1, from: 10, to: 25, as: "CANCELLED" }).ends("CANCELLED");
      run.ends("DEAD", 60);
    });
    assert.ok(skipped.includes("runsAgreeWithHandlers"));
    assert.ok(cancelled.includes("runsAgreeWithHandlers"));
  });

  it("a state of a run that its nodes, or an earlier read, contradict", () => {
    const found = [
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).did("b", 21, 30).ends("DEAD", 40)),
      brokenBy(FAILS, (run) =>
        run.failed("a", 10, 20).did("b", 10, 20).did("c", 21, 25).did("rescue", 21, 25).ends("SUCCEEDED", 40),
      ),
      brokenBy(CHAIN, (run) => run.did("a", 10, 20).did("b", 21, 30).ends("SUCCEEDED", 40).seenFinal(35, "DEAD")),
    ];
    assert.deepEqual(
      found,
      found.map(() => ["runsAgreeWithHandlers"]),
    );
  });
});

it("of workflows, the judge wants to see a run that outlives its server", () => {
  const seen = (killedAt: number) => {
    const story = new Story();
    story.workflow("w", CHAIN).submitted(0).did("a", 10, 20).did("b", 25, 30).ends("SUCCEEDED", 40);
    const faults = [{ event: "SERVER_KILLED" as const, at: killedAt, pid: 9 }];
    const { violations, figures } = judge({ ...story.evidence(), faults }, "crash");
    return [violations.some(({ rule }) => rule === "runsOutliveTheServer"), figures["runsAtAServersDeath"]];
  };
  assert.deepEqual(
    [seen(22), seen(35)],
    [
      [false, 1],
      [true, 0],
    ],
  );
});
