import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WorkflowGraph } from "@mainspring/sdk";
import { graphText, layersOf } from "./workflow-graph-text.ts";

type Node = WorkflowGraph["nodes"][number];

/** @param after nodes that must end first: `a`, or `a FAILED` */
function node(name: string, after: readonly string[] = [], more: Partial<Node> = {}): Node {
  const dependsOn = after.map((edge) => {
    const [parent = "", when = "SUCCEEDED"] = edge.split(" ");
    return { node: parent, when };
  });
  return {
    name,
    handler: "echo",
    pool: "default",
    state: "BLOCKED",
    compensatedBy: null,
    compensation: null,
    keptFrom: null,
    join: "ALL",
    allowFailure: false,
    dependsOn,
    addedBy: null,
    detached: false,
    ...more,
  };
}

const lines = (nodes: Node[], maxLines = 100) =>
  graphText({ workflowId: "w", onFailure: "FAIL_FAST", nodes }, maxLines).split("\n");

describe("the picture of a graph", () => {
  it("has one node", () => {
    assert.deepEqual(lines([node("only", [], { state: "RUNNING" })]), [
      "1 node in 1 layer, FAIL_FAST",
      "",
      "1  only  RUNNING",
    ]);
  });

  it("has a chain from top to bottom, in whatever order the nodes are defined", () => {
    assert.deepEqual(lines([node("c", ["b"]), node("b", ["a"]), node("a", [], { state: "SUCCEEDED" })]).slice(2), [
      "1  a  SUCCEEDED",
      "   │",
      "2  b  BLOCKED    after a",
      "   │",
      "3  c  BLOCKED    after b",
    ]);
  });

  it("has a diamond with conditions, joins and nodes that may fail", () => {
    const nodes = [
      node("fetch", [], { state: "DEAD", allowFailure: true }),
      node("left", ["fetch"], { state: "SKIPPED" }),
      node("right", ["fetch FAILED"], { state: "RUNNING" }),
      node("last", ["left", "right FINISHED", "fetch BRANCH:x"], { join: "ANY", allowFailure: true }),
    ];
    assert.deepEqual(lines(nodes), [
      "4 nodes in 3 layers, FAIL_FAST",
      "",
      "1  fetch  DEAD       may fail",
      "   │",
      "2  left   SKIPPED    after fetch",
      "   right  RUNNING    after fetch (FAILED)",
      "   │",
      "3  last   BLOCKED    after any of left, right (FINISHED), fetch (BRANCH:x); may fail",
    ]);
  });

  it("names the first dependencies of a node with many", () => {
    const roots = ["a", "b", "c", "d", "e", "f", "g"];
    const [last = ""] = lines([...roots.map((name) => node(name)), node("z", roots)]).slice(-1);
    assert.equal(last, "2  z  BLOCKED    after a, b, c, d, e and 2 more");
  });

  it("is bounded for 10,000 nodes side by side, and shows the most important ones", () => {
    const wide = Array.from({ length: 9_998 }, (_, index) => node(`n${index}`, ["root"], { state: "SUCCEEDED" }));
    wide[7_000] = node("broken", ["root"], { state: "DEAD" });
    const picture = lines([node("root"), ...wide, node("end", ["n0"])], 20);
    assert.ok(picture.length <= 20, `${picture.length} lines`);
    assert.equal(picture[0], "10000 nodes in 3 layers, FAIL_FAST");
    assert.match(picture[4] ?? "", /^2 +broken +DEAD/);
    assert.match(picture.at(-3) ?? "", /^ +… and 9989 more in this layer: 9989 SUCCEEDED$/);
    assert.match(picture.at(-1) ?? "", /^3 +end +BLOCKED +after n0$/);
  });

  it("has added nodes below the node that has added them, and above the nodes that wait for them", () => {
    const nodes = [
      node("list", [], { state: "SUCCEEDED" }),
      node("done", ["list"]),
      node("list/a", [], { addedBy: "list", state: "SUCCEEDED" }),
      node("list/b", ["list/a"], { addedBy: "list", state: "SUCCEEDED" }),
      node("list/b/x", [], { addedBy: "list/b", state: "RUNNING" }),
      node("list/b/mail", [], { addedBy: "list/b", detached: true }),
    ];
    assert.deepEqual(lines(nodes).slice(2), [
      "1  list         SUCCEEDED",
      "   │",
      "2  list/a       SUCCEEDED  added by list",
      "   │",
      "3  list/b       SUCCEEDED  after list/a",
      "   │",
      "4  list/b/x     RUNNING    added by list/b",
      "   list/b/mail  BLOCKED    added by list/b; detached",
      "   │",
      "5  done         BLOCKED    after list",
    ]);
  });

  it("is bounded for a chain of 10,000 nodes", () => {
    const chain = Array.from({ length: 10_000 }, (_, index) => node(`n${index}`, index === 0 ? [] : [`n${index - 1}`]));
    const picture = lines(chain);
    assert.ok(picture.length <= 100, `${picture.length} lines`);
    assert.match(picture[2] ?? "", /^ 1 +n0 +BLOCKED$/);
    assert.match(picture.at(-1) ?? "", /^… and \d+ nodes in \d+ layers more, each layer below the one before it$/);
  });

  it("stays within every bound, and counts every node", () => {
    for (const width of [1, 2, 3, 50]) {
      const graph = Array.from({ length: 300 }, (_, index) =>
        node(`n${index}`, index < width ? [] : [`n${index - width}`]),
      );
      assert.equal(layersOf(graph).flat().length, 300);
      for (const maxLines of [10, 11, 37, 100, 500]) {
        const picture = lines(graph, maxLines);
        assert.ok(picture.length <= maxLines, `${picture.length} of ${maxLines} lines`);
        const shown = picture.filter((line) => / n\d+ +BLOCKED/.test(line)).length;
        const others = picture.flatMap((line) => /… and (\d+) /.exec(line)?.[1] ?? []).map(Number);
        assert.equal(
          others.reduce((sum, count) => sum + count, shown),
          300,
          `${width} wide in ${maxLines} lines`,
        );
      }
    }
  });

  it("shows control characters instead of letting the terminal obey them", () => {
    const text = lines([node("a\u001b[2J\nb", ["x\u0007"])]).join("\n");
    assert.match(text, /a\\u001b\[2J\\nb/);
    assert.ok(!text.includes("\u001b") && !text.includes("\u0007"));
  });
});
