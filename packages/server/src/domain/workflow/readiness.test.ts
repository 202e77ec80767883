import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { GraphNode } from "./compile-graph.ts";
import type { Condition, Join, OnFailure } from "./definition.ts";
import { type NodeOutcome, type NodeState, type RunEnd, type RunMode, RunProgress } from "./readiness.ts";
import { chain, graphOf, node } from "./testing/some-graph.ts";

type Final = NodeOutcome["state"];

/** A run whose nodes are called by their names. */
class Run {
  readonly names: string[];
  readonly progress: RunProgress;

  constructor(nodes: readonly GraphNode[], onFailure: OnFailure = "CONTINUE", mode: RunMode = "RUNNING") {
    this.names = nodes.map(({ name }) => name);
    this.progress = RunProgress.of(graphOf({ nodes, onFailure }), [], [], mode);
  }

  /** Starts everything that may start. */
  start(max = Number.POSITIVE_INFINITY): string {
    return this.#listed(this.progress.takeReady(max));
  }

  /** Ends a live node, and starts everything that may start then. @returns names of the nodes that start */
  end(name: string, state: Final = "SUCCEEDED", branch: string | null = null): string {
    this.progress.ended(this.names.indexOf(name), { state, branch });
    return this.start();
  }

  /** @returns names of the nodes that are to be cancelled */
  setMode(mode: RunMode): string {
    return this.#listed(this.progress.setMode(mode).cancel);
  }

  state(name: string): NodeState {
    return this.progress.stateOf(this.names.indexOf(name));
  }

  /** Cause why a node is skipped, as text. */
  why(name: string): string | null {
    const cause = this.progress.whySkipped(this.names.indexOf(name));
    if (cause?.kind !== "DEAD_EDGES") return cause?.kind ?? null;
    return cause.edges.map(({ parent, when }) => `${this.names[parent]} ${when}`).join(", ");
  }

  waitsFor(name: string): string {
    return this.#listed(this.progress.openParents(this.names.indexOf(name)));
  }

  get over(): RunEnd | null {
    return this.progress.end();
  }

  get failedNode(): [string, string | undefined] | null {
    const end = this.progress.end();
    return end?.state === "DEAD" ? [end.reason, this.names[end.node]] : null;
  }

  #listed(nodes: readonly number[]): string {
    return nodes.map((one) => this.names[one]).join(" ");
  }
}

const SUCCEEDED = { state: "SUCCEEDED", reason: null, node: null };

describe("an edge", () => {
  const table: [Final, string | null, Condition, boolean][] = [
    ["SUCCEEDED", null, "SUCCEEDED", true],
    ["SUCCEEDED", null, "FAILED", false],
    ["SUCCEEDED", null, "FINISHED", true],
    ["SUCCEEDED", null, "BRANCH:x", false],
    ["SUCCEEDED", "x", "SUCCEEDED", true],
    ["SUCCEEDED", "x", "BRANCH:x", true],
    ["SUCCEEDED", "x", "FAILED", false],
    ["SUCCEEDED", "y", "BRANCH:x", false],
    ["SUCCEEDED", "y", "FINISHED", true],
    ["DEAD", null, "SUCCEEDED", false],
    ["DEAD", null, "FAILED", true],
    ["DEAD", null, "FINISHED", true],
    ["DEAD", "x", "BRANCH:x", false],
    ["SKIPPED", null, "SUCCEEDED", false],
    ["SKIPPED", null, "FAILED", false],
    ["SKIPPED", null, "FINISHED", true],
    ["SKIPPED", "x", "BRANCH:x", false],
    ["CANCELLED", null, "SUCCEEDED", false],
    ["CANCELLED", null, "FAILED", false],
    ["CANCELLED", null, "FINISHED", true],
    ["CANCELLED", "x", "BRANCH:x", false],
  ];
  for (const [state, branch, when, isMet] of table) {
    const end = branch === null ? state : `${state} with branch ${branch}`;
    it(`${when} is ${isMet ? "met" : "dead"} when the parent is ${end}`, () => {
      for (const join of ["ALL", "ANY"] as const) {
        const run = new Run([node("a"), node("b", { a: when }, { join })]);
        assert.equal(run.start(), "a");
        assert.equal(run.waitsFor("b"), "a");
        assert.equal(run.end("a", state, branch), isMet ? "b" : "");
        assert.equal(run.state("b"), isMet ? "LIVE" : "SKIPPED");
        assert.equal(run.why("b"), isMet ? null : `a ${when}`);
      }
    });
  }

  it("counts by itself where a node has two edges from one parent", () => {
    const dependsOn = [
      { node: "a", when: "BRANCH:x" as const },
      { node: "a", when: "BRANCH:y" as const },
    ];
    const either = () => new Run([node("a"), node("b", {}, { dependsOn, join: "ANY" })]);
    const run = either();
    run.start();
    assert.deepEqual([run.waitsFor("b"), run.progress.openEdges(1)], ["a", 2]);
    assert.equal(run.end("a", "SUCCEEDED", "y"), "b");
    const other = either();
    other.start();
    assert.equal(other.end("a", "SUCCEEDED", "z"), "");
    assert.equal(other.why("b"), "a BRANCH:x, a BRANCH:y");
  });
});

describe("a join", () => {
  const fan = (join: Join) => {
    const run = new Run([
      node("a"),
      node("b"),
      node("c"),
      node("d", { a: "SUCCEEDED", b: "SUCCEEDED", c: "SUCCEEDED" }, { join }),
    ]);
    assert.equal(run.start(), "a b c");
    return run;
  };

  it("ALL waits for every parent", () => {
    const run = fan("ALL");
    assert.equal(run.end("b"), "");
    assert.equal(run.waitsFor("d"), "a c");
    assert.equal(run.end("a"), "");
    assert.equal(run.end("c"), "d");
  });

  it("ALL is skipped at the first dead edge", () => {
    const run = fan("ALL");
    run.end("a");
    run.end("b", "DEAD");
    assert.equal(run.state("d"), "SKIPPED");
    assert.equal(run.why("d"), "b SUCCEEDED");
    run.end("c", "SKIPPED");
    assert.equal(run.why("d"), "b SUCCEEDED, c SUCCEEDED");
  });

  it("ANY starts at the first edge that is met, and the other ones do not matter", () => {
    const run = fan("ANY");
    assert.equal(run.end("a", "DEAD"), "");
    assert.equal(run.waitsFor("d"), "b c");
    assert.equal(run.end("c"), "d");
    assert.equal(run.end("b", "DEAD"), "");
    assert.equal(run.state("d"), "LIVE");
  });

  it("ANY is skipped when all edges are dead", () => {
    const run = fan("ANY");
    run.end("a", "DEAD");
    run.end("b", "SKIPPED");
    assert.equal(run.state("d"), "BLOCKED");
    run.end("c", "CANCELLED");
    assert.equal(run.why("d"), "a SUCCEEDED, b SUCCEEDED, c SUCCEEDED");
  });
});

describe("a skipped node", () => {
  it("closes its own edges, so skips spread and FINISHED edges are met", () => {
    const run = new Run([
      node("check"),
      node("good", { check: "BRANCH:good" }),
      node("better", { good: "SUCCEEDED" }),
      node("last", { better: "FINISHED" }),
    ]);
    run.start();
    assert.equal(run.end("check", "SUCCEEDED", "bad"), "last");
    assert.deepEqual([run.state("good"), run.state("better")], ["SKIPPED", "SKIPPED"]);
    assert.deepEqual([run.why("good"), run.why("better")], ["check BRANCH:good", "good SUCCEEDED"]);
    assert.equal(run.end("last"), "");
    assert.deepEqual(run.over, SUCCEEDED);
  });

  it("with an execution of its own is explained by that execution", () => {
    const run = new Run([node("a")]);
    run.start();
    run.end("a", "SKIPPED");
    assert.deepEqual([run.state("a"), run.why("a"), run.over], ["SKIPPED", null, SUCCEEDED]);
  });

  it("may be one of 10,000 in a row", () => {
    const run = new Run(chain(10_000));
    run.start();
    const { skipped } = run.progress.ended(0, { state: "CANCELLED", branch: null });
    assert.equal(skipped.length, 9_999);
    assert.deepEqual(run.failedNode, ["NODE_CANCELLED", "n0"]);
  });
});

describe("the window of a run", () => {
  it("gives nodes out in topological order, however they became ready", () => {
    const run = new Run([
      node("d", { b: "SUCCEEDED" }),
      node("c", { a: "SUCCEEDED" }),
      node("b"),
      node("a"),
      node("e", { b: "SUCCEEDED" }),
    ]);
    assert.equal(run.start(1), "b");
    run.progress.ended(2, { state: "SUCCEEDED", branch: null });
    assert.deepEqual([run.start(0), run.start(-1), run.progress.ready, run.progress.live], ["", "", 3, 0]);
    assert.equal(run.over, null);
    assert.equal(run.start(2), "a d");
    run.progress.ended(3, { state: "SUCCEEDED", branch: null });
    assert.equal(run.start(9), "e c");
  });
});

describe("a run that fails fast", () => {
  const etl = () => {
    const run = new Run(
      [
        node("extract"),
        node("other"),
        node("load", { extract: "SUCCEEDED" }),
        node("report", { other: "SUCCEEDED" }),
        node("alarm", { extract: "FAILED", load: "FAILED" }, { join: "ANY", allowFailure: true }),
        node("answer", { alarm: "SUCCEEDED" }),
        node("clean", { report: "FINISHED" }),
      ],
      "FAIL_FAST",
    );
    assert.equal(run.start(), "extract other");
    return run;
  };

  it("lets those nodes start that handle failures or ends, and their descendants, and no others", () => {
    const run = etl();
    const { cancel, skipped } = run.progress.ended(0, { state: "DEAD", branch: null });
    assert.equal(run.progress.mode, "FAILING");
    assert.deepEqual([cancel, skipped.sort()], [[1], [2, 3]]);
    assert.deepEqual([run.why("load"), run.why("report")], ["extract SUCCEEDED", "WORKFLOW_FAILED"]);
    assert.equal(run.start(), "alarm clean");
    assert.equal(run.end("alarm"), "answer");
    assert.deepEqual(run.progress.toCancel(), [1]);
    for (const name of ["other", "clean", "answer"]) run.end(name, name === "other" ? "CANCELLED" : "SUCCEEDED");
    assert.deepEqual(run.failedNode, ["NODE_DEAD", "extract"]);
  });

  it("goes on when a node may fail, is skipped or is cancelled", () => {
    for (const state of ["SKIPPED", "CANCELLED"] as const) {
      const run = etl();
      run.end("extract", state);
      assert.deepEqual([run.progress.mode, run.state("other")], ["RUNNING", "LIVE"]);
    }
    const run = new Run([node("a", {}, { allowFailure: true }), node("b")], "FAIL_FAST");
    run.start(1);
    assert.equal(run.end("a", "DEAD"), "b");
    run.end("b");
    assert.deepEqual(run.over, SUCCEEDED);
  });

  it("starts a clean-up by FINISHED edges, whether the other parent was cancelled or never started", () => {
    const nodes = [node("bad"), node("work"), node("clean", { bad: "FINISHED", work: "FINISHED" })];
    const started = new Run(nodes, "FAIL_FAST");
    started.start();
    started.end("bad", "DEAD");
    assert.equal(started.end("work", "CANCELLED"), "clean");
    const unstarted = new Run(nodes, "FAIL_FAST");
    unstarted.start(1);
    assert.equal(unstarted.end("bad", "DEAD"), "clean");
    assert.equal(unstarted.why("work"), "WORKFLOW_FAILED");
  });

  it("is failing by its rows already, before its mode is stored", () => {
    const graph = graphOf({ nodes: [node("a"), node("b"), node("c", { b: "SUCCEEDED" })], onFailure: "FAIL_FAST" });
    const progress = RunProgress.of(graph, [[0, { state: "DEAD", branch: null }]], [1], "RUNNING");
    assert.deepEqual([progress.mode, progress.toCancel(), progress.stateOf(2)], ["FAILING", [1], "SKIPPED"]);
  });
});

describe("a run that continues", () => {
  it("runs whatever its own edges allow, and is DEAD at the end", () => {
    const run = new Run([node("a"), node("b"), node("c", { b: "SUCCEEDED" }), node("d", { a: "SUCCEEDED" })]);
    run.start();
    assert.equal(run.end("a", "DEAD"), "");
    assert.equal(run.end("b"), "c");
    assert.equal(run.over, null);
    run.end("c", "DEAD");
    assert.deepEqual([run.progress.mode, run.failedNode], ["RUNNING", ["NODE_DEAD", "a"]]);
  });
});

describe("a cancelled run", () => {
  it("starts nothing more, cancels what is live, and is over when that has ended", () => {
    const run = new Run([node("a"), node("b", { a: "FINISHED" }), node("c"), node("d", { b: "FINISHED" })]);
    assert.equal(run.start(), "a c");
    run.end("c");
    assert.equal(run.setMode("CANCELLING"), "a");
    assert.deepEqual([run.why("b"), run.why("d"), run.over], ["WORKFLOW_CANCELLED", "WORKFLOW_CANCELLED", null]);
    run.end("a", "DEAD");
    assert.deepEqual(run.over, { state: "CANCELLED", reason: null, node: null });
  });

  it("keeps the cause of nodes that were skipped without it", () => {
    const run = new Run([node("a"), node("b", { a: "FAILED" }), node("c", { b: "SUCCEEDED" }), node("d")], "FAIL_FAST");
    run.start();
    run.end("a");
    run.setMode("CANCELLING");
    assert.deepEqual([run.why("b"), run.why("c")], ["a FAILED", "b SUCCEEDED"]);
  });

  it("may fail before: then the survivors are cancelled too", () => {
    const run = new Run([node("a"), node("b", { a: "FAILED" }), node("c", { b: "FINISHED" })], "FAIL_FAST");
    run.start();
    assert.equal(run.end("a", "DEAD"), "b");
    assert.deepEqual(run.progress.toCancel(), []);
    assert.equal(run.setMode("CANCELLING"), "b");
    assert.equal(run.why("c"), "WORKFLOW_CANCELLED");
    assert.throws(() => run.setMode("FAILING"), /goes forward/);
  });
});

describe("the end of a run", () => {
  it("names the first dead node in topological order, before any cancelled one", () => {
    const run = new Run([node("c", { a: "FINISHED" }), node("b"), node("a")]);
    run.start();
    run.end("b", "CANCELLED");
    run.end("a", "DEAD");
    run.end("c", "DEAD");
    assert.deepEqual(run.failedNode, ["NODE_DEAD", "a"]);
  });

  it("is DEAD for a node that somebody cancelled, unless the node may fail", () => {
    for (const allowFailure of [false, true]) {
      const run = new Run([node("a", {}, { allowFailure }), node("b")]);
      run.start();
      run.end("a", "CANCELLED");
      run.end("b");
      assert.deepEqual(run.failedNode, allowFailure ? null : ["NODE_CANCELLED", "a"]);
    }
  });

  it("comes once: a node that is not live cannot end", () => {
    const run = new Run([node("a"), node("b", { a: "SUCCEEDED" })]);
    assert.throws(() => run.end("a"), /while it is live/);
    run.start();
    run.end("a");
    assert.throws(() => run.end("a"), /while it is live/);
  });
});
