import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { GraphNode } from "./compile-graph.ts";
import type { OnFailure } from "./definition.ts";
import { keptOutcomes, partsToKeep } from "./kept-nodes.ts";
import { type NodeOutcome, RunProgress } from "./readiness.ts";
import { withParts } from "./spawned-parts.ts";
import { BRANCHES, dags, graphOf, node } from "./testing/some-graph.ts";

type Outcomes = Readonly<Record<string, NodeOutcome["state"] | `SUCCEEDED ${string}`>>;

/** Runs a graph to its end. Nodes without an outcome succeed. @returns names of the nodes that a retry keeps */
function kept(
  nodes: readonly GraphNode[],
  outcomes: Outcomes,
  again: string[] = [],
  onFailure: OnFailure = "FAIL_FAST",
) {
  const numberOf = (name: string) => nodes.findIndex((one) => one.name === name);
  const progress = RunProgress.of(graphOf({ nodes, onFailure }), [], [], "RUNNING");
  for (let started = progress.takeReady(99); started.length > 0; started = progress.takeReady(99)) {
    for (const number of started) {
      const [state = "SUCCEEDED", branch = null] = outcomes[nodes[number]?.name ?? ""]?.split(" ") ?? [];
      progress.ended(number, { state: state as NodeOutcome["state"], branch });
    }
  }
  const numbers = partsToKeep(progress, new Set(again.map(numberOf))).nodes;
  return numbers.map((number) => nodes[number]?.name).join(" ");
}

describe("the nodes that a retry keeps", () => {
  const line = [node("a"), node("b", { a: "SUCCEEDED" }), node("c", { b: "SUCCEEDED" }), node("d")];

  it("are those that SUCCEEDED", () => {
    assert.equal(kept(line, { b: "DEAD" }, [], "CONTINUE"), "a d");
    assert.equal(kept(line, { b: "CANCELLED" }, [], "CONTINUE"), "a d");
  });

  it("are none of those that run again, nor any that depends on them", () => {
    assert.equal(kept(line, {}, ["b"]), "a d");
    assert.equal(kept(line, {}, ["a", "d"]), "");
  });

  describe("of a run whose handler of s has added x, y and the detached d", () => {
    const added = graphOf({
      nodes: [node("x"), node("y", { x: "SUCCEEDED" }), { ...node("d"), detached: true }],
      onFailure: "FAIL_FAST",
    });
    const base = graphOf({ nodes: [node("s"), node("z", { s: "FINISHED" }), node("w")], onFailure: "CONTINUE" });
    const graph = withParts(base, [{ spawner: 0, first: 4, graph: added }]);
    const [s, z, w, x, y, d] = [0, 1, 2, 4, 5, 6] as const;
    const parts = (dead: readonly number[], again: readonly number[] = []) => {
      const outcomes = [...graph.order].map((number) => {
        return [
          number,
          { state: dead.includes(number) ? ("DEAD" as const) : ("SUCCEEDED" as const), branch: null },
        ] as const;
      });
      const { nodes, spawners } = partsToKeep(RunProgress.of(graph, outcomes, [], "RUNNING"), new Set(again));
      return { nodes: nodes.sort((a, b) => a - b), spawners };
    };

    it("are all of them where nothing runs again", () => {
      assert.deepEqual(parts([w]), { nodes: [s, z, x, y, d], spawners: [s] });
    });

    it("are not those behind a spawner whose added node runs again", () => {
      assert.deepEqual(parts([y]), { nodes: [s, w, x, d], spawners: [s] });
      assert.deepEqual(parts([x]), { nodes: [s, w, d], spawners: [s] });
      assert.deepEqual(parts([], [d]), { nodes: [s, z, w, x, y], spawners: [s] });
    });

    it("are none of them if the spawner runs again", () => {
      assert.deepEqual(parts([], [s]), { nodes: [w], spawners: [] });
    });
  });

  it("are no handlers of a failure, because the node that failed runs again", () => {
    const nodes = [node("a"), node("alarm", { a: "FAILED" }), node("after", { alarm: "SUCCEEDED" }), node("b")];
    assert.equal(kept(nodes, { a: "DEAD" }), "b");
  });

  it("are no nodes that follow from the end of a node which the failure of the run has skipped", () => {
    const nodes = [node("bad"), node("slow"), node("publish", { slow: "SUCCEEDED", bad: "SUCCEEDED" })];
    const cleanUp = node("clean-up", { publish: "FINISHED" });
    assert.equal(kept([...nodes, cleanUp], { bad: "DEAD" }), "slow");
    const waits = [node("bad"), node("next", { bad: "FAILED" }), node("first"), node("second", { first: "SUCCEEDED" })];
    assert.equal(kept([...waits, node("end", { second: "FINISHED" })], { bad: "DEAD" }), "first");
  });

  it("are nodes after a branch that was not chosen, where the node that chose is kept", () => {
    const nodes = [
      node("check"),
      node("approve", { check: "BRANCH:large" }),
      node("order", { approve: "SUCCEEDED", check: "BRANCH:small" }, { join: "ANY" }),
      node("mail", { order: "SUCCEEDED" }),
    ];
    const outcomes: Outcomes = { check: "SUCCEEDED small", mail: "DEAD" };
    assert.equal(kept(nodes, outcomes), "check order");
    assert.equal(kept(nodes, outcomes, ["approve"]), "check");
  });

  it("lead to the same end as a whole run in which they end as before", () => {
    const ends = fc.constantFrom<NodeOutcome>(
      ...BRANCHES.map((branch) => ({ state: "SUCCEEDED", branch }) as const),
      ...(["SUCCEEDED", "DEAD", "CANCELLED"] as const).map((state) => ({ state, branch: null })),
    );
    const tables = fc.array(ends, { minLength: 25, maxLength: 25 });
    const graphs = dags(25, fc.constantFrom("FAIL_FAST" as const, "CONTINUE" as const));
    fc.assert(
      fc.property(graphs, tables, tables, fc.array(fc.nat(24), { maxLength: 2 }), (dag, first, second, again) => {
        const graph = graphOf(dag);
        const old = ended(RunProgress.of(graph, [], [], "RUNNING"), first);
        const nodes = partsToKeep(old, new Set(again)).nodes;
        const branchOf = (number: number) => first[number]?.branch ?? null;
        const keptNodes = [{ run: "r", nodes: nodes.map((number) => [number, branchOf(number)] as const) }];
        // A failure that ends others early would make the order of the ends count.
        const isQuiet = ({ state }: NodeOutcome) => dag.onFailure === "CONTINUE" || state === "SUCCEEDED";
        const later = second.map((end): NodeOutcome => (isQuiet(end) ? end : { state: "SUCCEEDED", branch: null }));
        for (const number of nodes) later[number] = first[number] as NodeOutcome;
        const retried = ended(RunProgress.of(graph, keptOutcomes(keptNodes), [], "RUNNING"), later);
        const whole = ended(RunProgress.of(graph, [], [], "RUNNING"), later);
        const states = (progress: RunProgress) => dag.nodes.map((_, number) => progress.stateOf(number));
        assert.deepEqual(states(retried), states(whole));
      }),
      { numRuns: 500 },
    );
  });
});

/** Ends every node as the table says. Nodes that the run cancels count as CANCELLED. */
function ended(progress: RunProgress, outcomes: readonly NodeOutcome[]): RunProgress {
  const cancelled = new Set<number>();
  for (let started = progress.takeReady(99); started.length > 0; started = progress.takeReady(99)) {
    for (const number of started) {
      const end: NodeOutcome = cancelled.has(number)
        ? { state: "CANCELLED", branch: null }
        : (outcomes[number] as NodeOutcome);
      for (const other of progress.ended(number, end).cancel) cancelled.add(other);
    }
  }
  return progress;
}
