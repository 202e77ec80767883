import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decodeGraph, encodeGraph } from "./graph-bytes.ts";
import { dags, graphOf, layers, node } from "./testing/some-graph.ts";

const policies = fc.constantFrom("FAIL_FAST" as const, "CONTINUE" as const);
const small = graphOf({
  nodes: [node("a"), node("b", { a: "BRANCH:good" }), node("c", { a: "FAILED", b: "FINISHED" }, { join: "ANY" })],
  onFailure: "CONTINUE",
});
/** The bytes of `small`: head, branch, flags, number of edges, and a row of edges for each node. */
const BYTES = [1, 1, 3, 1, 4, 103, 111, 111, 100, 0, 0, 1, 3, 2, 1, 3, 1, 1, 1, 2, 2, 0];

function malformed(...bytes: number[]): string | undefined {
  const decoded = decodeGraph(Uint8Array.from(bytes));
  return "malformed" in decoded ? decoded.malformed : undefined;
}

function replaced(at: number, ...bytes: number[]): number[] {
  return BYTES.toSpliced(at, bytes.length, ...bytes);
}

describe("the bytes of a graph", () => {
  it("are those of format 1, which the store has", () => {
    assert.deepEqual([...encodeGraph(small)], BYTES);
  });

  it("lead to the same graph again", () => {
    fc.assert(
      fc.property(dags(200, policies), (dag) => {
        const graph = graphOf(dag);
        const decoded = decodeGraph(encodeGraph(graph));
        assert.ok("graph" in decoded);
        assert.deepEqual(decoded.graph, graph);
        assert.equal(decoded.graph.branchCode("y"), graph.branchCode("y"));
        assert.deepEqual(decoded.graph.parents, graph.parents);
      }),
      { seed: 20_261_124, numRuns: 100 },
    );
  });

  it("are a few a node and edge", () => {
    const graph = graphOf({ nodes: layers(), onFailure: "FAIL_FAST" });
    const bytes = encodeGraph(graph);
    assert.deepEqual(decodeGraph(bytes), { graph });
    assert.ok(bytes.length < 250_000, `${bytes.length}`);
  });

  it("are refused with a reason when they are malformed", () => {
    assert.equal(malformed(), "the bytes end too early");
    assert.equal(malformed(...replaced(0, 2)), "version 2 is not known");
    assert.equal(malformed(...replaced(1, 2)), "the consequence of a failure is not known");
    assert.equal(malformed(...replaced(2, 0)), "there are no nodes");
    assert.equal(malformed(...replaced(2, 127)), "the bytes end too early");
    assert.match(malformed(...replaced(2, 255, 255, 127)) ?? "", /is more than 32768/);
    assert.match(malformed(...replaced(2, 255, 255, 255, 255)) ?? "", /is too large/);
    assert.match(malformed(...BYTES.toSpliced(0, 1, 0x81, 0)) ?? "", /has a shorter form/);
    assert.equal(malformed(...replaced(5, 0x20)), "a branch has no valid name");
    assert.match(malformed(...replaced(11, 4)) ?? "", /a flag is not known/);
    assert.equal(malformed(...replaced(12, 5)), "there are fewer edges than the bytes say");
    assert.match(malformed(...replaced(15, 4)) ?? "", /4 at byte 15 is more than 3/);
    assert.match(malformed(...replaced(16, 2)) ?? "", /2 at byte 16 is more than 1/);
    assert.equal(malformed(...BYTES, 0), "the bytes do not end where the graph does");
  });

  it("are refused when their edges are no graph", () => {
    assert.equal(malformed(1, 0, 1, 0, 0, 1, 1, 0, 0), "the graph has a cycle");
    assert.equal(malformed(1, 0, 2, 0, 0, 0, 2, 1, 1, 0, 1, 0, 0), "the graph has a cycle");
    assert.equal(malformed(1, 0, 2, 0, 0, 0, 2, 2, 1, 1, 0, 1, 0), "an edge occurs twice");
    assert.equal(malformed(1, 0, 1, 2, 1, 97, 1, 97, 0, 0, 0), "a branch occurs twice");
  });

  it("never lead to a graph by their beginning alone, nor to an error", () => {
    for (let length = 0; length < BYTES.length; length++) assert.ok(malformed(...BYTES.slice(0, length)));
    fc.assert(
      fc.property(fc.nat(BYTES.length - 1), fc.uint8Array({ maxLength: 4 }), (at, bytes) => {
        const decoded = decodeGraph(Uint8Array.from(replaced(at, ...bytes)));
        if ("graph" in decoded) assert.deepEqual([...encodeGraph(decoded.graph)], replaced(at, ...bytes));
        else assert.notEqual(decoded.malformed, "");
      }),
      { seed: 20_261_124, numRuns: 2_000 },
    );
  });
});
