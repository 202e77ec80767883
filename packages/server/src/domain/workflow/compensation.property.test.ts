import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { edgesOf, nodeOfEdge } from "./adjacency.ts";
import { Compensation, type CompensationState } from "./compensation.ts";
import type { WorkflowGraph } from "./graph.ts";
import { chain, dags, graphOf } from "./testing/some-graph.ts";

type Rows = ReadonlyMap<number, "LIVE" | "SUCCEEDED" | "FAILED">;

/** States by their definition: each node looks at all of its descendants. */
function oracle(graph: WorkflowGraph, compensated: ReadonlySet<number>, rows: Rows): Map<number, CompensationState> {
  const states = new Map<number, CompensationState>();
  for (const node of compensated) {
    const after = [...descendants(graph, node)]
      .filter((other) => compensated.has(other))
      .map((other) => rows.get(other));
    const own = rows.get(node);
    const isStopped = after.includes("FAILED");
    const isOpen = after.some((state) => state !== "SUCCEEDED");
    states.set(node, own ?? (isStopped ? "SKIPPED" : isOpen ? "BLOCKED" : "READY"));
  }
  return states;
}

function descendants(graph: WorkflowGraph, node: number): Set<number> {
  const found = new Set<number>();
  for (const open = [node]; open.length > 0; ) {
    for (const edge of edgesOf(graph.children, open.pop() as number)) {
      const child = nodeOfEdge(edge);
      if (!found.has(child)) open.push(child);
      found.add(child);
    }
  }
  return found;
}

function statesOf(compensation: Compensation): Map<number, CompensationState> {
  const nodes = Array.from({ length: compensation.graph.nodeCount }, (_, node) => node);
  const states = nodes.map((node) => [node, compensation.stateOf(node)] as const);
  return new Map(states.filter((pair): pair is [number, CompensationState] => pair[1] !== null));
}

function recounted(graph: WorkflowGraph, compensated: ReadonlySet<number>, rows: Rows): Compensation {
  const ended = [...rows].flatMap(([node, state]) =>
    state === "LIVE" ? [] : [[node, state === "SUCCEEDED"] as const],
  );
  const live = [...rows].flatMap(([node, state]) => (state === "LIVE" ? [node] : []));
  return Compensation.of(graph, compensated, ended, live);
}

const cases = fc.record({
  dag: dags(25, fc.constant("CONTINUE")),
  compensated: fc.infiniteStream(fc.boolean()),
  outcomes: fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
  picks: fc.infiniteStream(fc.nat(1_000)),
  window: fc.integer({ min: 1, max: 5 }),
});

interface Ends {
  compensation: Compensation;
  rows: Rows;
}

/** Runs a compensation to its end. @param outcomes fails(node): whether the compensation of the node fails */
function played(
  graph: WorkflowGraph,
  compensated: ReadonlySet<number>,
  { fails, pick, window }: { fails(node: number): boolean; pick(count: number): number; window: number },
  after: (compensation: Compensation, rows: Rows) => void = () => {},
): Ends {
  const compensation = Compensation.of(graph, compensated, [], []);
  const rows = new Map<number, "LIVE" | "SUCCEEDED" | "FAILED">();
  for (;;) {
    for (const node of compensation.takeReady(window - compensation.live)) rows.set(node, "LIVE");
    after(compensation, rows);
    const live = [...rows].flatMap(([node, state]) => (state === "LIVE" ? [node] : []));
    assert.equal(compensation.live, live.length);
    if (live.length === 0) return { compensation, rows };
    const node = live[pick(live.length)] as number;
    compensation.ended(node, !fails(node));
    rows.set(node, fails(node) ? "FAILED" : "SUCCEEDED");
    after(compensation, rows);
  }
}

describe("the compensation of a run", () => {
  it("has after each event the states of the oracle, which are those of a recount of the rows", () => {
    fc.assert(
      fc.property(cases, ({ dag, compensated, outcomes, picks, window }) => {
        const graph = graphOf(dag);
        const nodes = chosen(graph, compensated);
        const failing = failures(graph, outcomes);
        const pick = (count: number) => (picks.next().value as number) % count;
        const { compensation } = played(
          graph,
          nodes,
          { fails: (node) => failing.has(node), pick, window },
          (now, rows) => {
            const states = statesOf(now);
            assert.deepEqual(states, oracle(graph, nodes, rows));
            const other = recounted(graph, nodes, rows);
            assert.deepEqual(statesOf(other), states);
            assert.deepEqual([other.live, other.ready, other.failed], [now.live, now.ready, now.failed]);
          },
        );
        const open = [...statesOf(compensation).values()].filter((state) => state === "BLOCKED" || state === "READY");
        assert.deepEqual(open, [], "every compensation ends, or is skipped");
      }),
      { numRuns: 300 },
    );
  });

  it("comes to the same end in every order of ends and with every window", () => {
    fc.assert(
      fc.property(cases, ({ dag, compensated, outcomes, picks, window }) => {
        const graph = graphOf(dag);
        const nodes = chosen(graph, compensated);
        const failing = failures(graph, outcomes);
        const fails = (node: number) => failing.has(node);
        const pick = (count: number) => (picks.next().value as number) % count;
        const one = played(graph, nodes, { fails, pick, window });
        const other = played(graph, nodes, { fails, pick: (count) => count - 1, window: 1_000 });
        assert.deepEqual(statesOf(one.compensation), statesOf(other.compensation));
        assert.equal(one.compensation.failed, other.compensation.failed);
      }),
      { numRuns: 200 },
    );
  });

  it("starts no compensation before those of all descendants SUCCEEDED, and names those that it waits for", () => {
    fc.assert(
      fc.property(cases, ({ dag, compensated, outcomes }) => {
        const graph = graphOf(dag);
        const nodes = chosen(graph, compensated);
        const failing = failures(graph, outcomes);
        const { compensation, rows } = played(graph, nodes, { fails: (n) => failing.has(n), pick: () => 0, window: 2 });
        const order = [...rows.keys()];
        for (const [place, node] of order.entries()) {
          const later = [...descendants(graph, node)].filter((other) => nodes.has(other));
          for (const other of later) assert.ok(order.indexOf(other) < place && rows.get(other) === "SUCCEEDED");
        }
        for (const node of nodes) {
          const waitsFor = compensation.openAfter(node);
          assert.equal(waitsFor.length > 0, compensation.stateOf(node) === "SKIPPED");
          const after = descendants(graph, node);
          for (const other of waitsFor) assert.ok(after.has(other) && rows.get(other) !== "SUCCEEDED");
        }
      }),
      { numRuns: 200 },
    );
  });

  it("walks over a chain of 10,000 nodes without recursion", () => {
    const graph = graphOf({ nodes: chain(10_000), onFailure: "FAIL_FAST" });
    const nodes = new Set([0, 9_999]);
    const { compensation, rows } = played(graph, nodes, { fails: () => false, pick: () => 0, window: 4 });
    assert.deepEqual([...rows.keys()], [9_999, 0]);
    assert.equal(compensation.failed, null);
    const failed = played(graph, nodes, { fails: () => true, pick: () => 0, window: 4 });
    assert.deepEqual([failed.compensation.stateOf(0), failed.compensation.openAfter(0)], ["SKIPPED", [9_999]]);
  });
});

function chosen({ nodeCount }: WorkflowGraph, stream: Iterator<boolean>): Set<number> {
  const nodes = Array.from({ length: nodeCount }, (_, node) => node);
  return new Set(nodes.filter(() => stream.next().value as boolean));
}

function failures({ nodeCount }: WorkflowGraph, stream: Iterator<number>): Set<number> {
  const nodes = Array.from({ length: nodeCount }, (_, node) => node);
  return new Set(nodes.filter(() => stream.next().value === 0));
}
