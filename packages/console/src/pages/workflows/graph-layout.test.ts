import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { criticalPath, rerunBy } from "./critical-path.ts";
import { BOX, type GraphNode, layoutOf } from "./graph-layout.ts";

const node = (name: string, ...parents: string[]): GraphNode => ({ name, parents });

describe("the layout of a graph", () => {
  it("places each node to the right of its parents", () => {
    const { places, edges } = layoutOf([node("d", "b", "c"), node("a"), node("b", "a"), node("c", "b", "a")]);
    assert.equal(edges.length, 5);
    for (const [from, to] of edges) assert.ok((places[from]?.x ?? 0) + BOX.width < (places[to]?.x ?? 0));
  });

  it("puts nodes beside their parents, so that edges of separate chains do not cross", () => {
    const { places } = layoutOf([node("a"), node("b"), node("under b", "b"), node("under a", "a")]);
    const [a, b, underB, underA] = places.map(({ y }) => y);
    assert.deepEqual([underA, underB], [a, b]);
  });

  it("lets no two boxes overlap, also in a layer of a thousand nodes, which has several columns", () => {
    const wide = Array.from({ length: 1_000 }, (_, number) => node(`n${number}`, "first"));
    const { places, width, height } = layoutOf([node("first"), ...wide, node("last", ...wide.map(({ name }) => name))]);
    assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 1_002);
    assert.ok(height < 40 * (BOX.height + BOX.gapY) && width < 30 * (BOX.width + BOX.gapX));
    for (const { x, y } of places) assert.ok(x >= 0 && x + BOX.width <= width && y >= 0 && y + BOX.height <= height);
  });

  it("is there for graphs without nodes, with unknown parents, and with a cycle", () => {
    assert.deepEqual(layoutOf([]).places, []);
    assert.deepEqual(layoutOf([node("a", "gone")]).edges, []);
    assert.equal(layoutOf([node("a", "b"), node("b", "a")]).places.length, 2);
  });
});

describe("the critical path of a run", () => {
  const timed = (name: string, startedAt: string | null, finishedAt: string | null, ...parents: string[]) => ({
    ...node(name, ...parents),
    ...{ startedAt, finishedAt },
  });

  it("follows the parents that ended last", () => {
    const nodes = [
      timed("a", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
      timed("slow", "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z", "a"),
      timed("fast", "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "a"),
      timed("end", "2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z", "fast", "slow"),
    ];
    assert.deepEqual(criticalPath(nodes), ["a", "slow", "end"]);
  });

  it("ends at a node that runs, and is empty before the first start", () => {
    const nodes = [
      timed("a", "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"),
      timed("runs", "2026-01-01T00:00:01Z", null),
      timed("blocked", null, null, "a", "runs"),
    ];
    assert.deepEqual(criticalPath(nodes), ["runs"]);
    assert.deepEqual(criticalPath([timed("blocked", null, null)]), []);
  });

  it("is followed by a retry to all nodes behind one", () => {
    const nodes = [node("a"), node("b", "a"), node("c", "b"), node("other")];
    assert.deepEqual([...rerunBy(nodes, ["b"])], ["b", "c"]);
    assert.deepEqual([...rerunBy(nodes, [])], []);
  });
});
