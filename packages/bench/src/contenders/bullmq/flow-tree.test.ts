import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chain, fanIn, fanOut, flowsOf } from "../../load/flow-shapes.ts";
import type { BenchFlow } from "../contender.ts";
import type { FlowTree } from "./bullmq-types.ts";
import { treeOf } from "./flow-tree.ts";

const second = (nodes: BenchFlow["nodes"]) => flowsOf(2, nodes)[1] as BenchFlow;
const wordsOf = ({ data, children = [] }: FlowTree): string => `${data.n}(${children.map(wordsOf).join(" ")})`;

describe("a workflow as a tree of BullMQ", () => {
  it("has the last node as its root, and keeps the numbers of the jobs", () => {
    assert.equal(wordsOf(treeOf(second(fanIn(3)))), "5(3() 4())");
    assert.equal(wordsOf(treeOf(second(chain(3)))), "5(4(3()))");
    assert.equal(wordsOf(treeOf({ firstN: 0, nodes: [[], [], [0], [1, 2]] })), "3(1() 2(0()))");
  });

  it("takes a chain of many nodes", () => {
    assert.equal(treeOf(second(chain(1_000))).data.n, 1_999);
  });

  it("does not exist if two nodes wait for one, or several nodes are last", () => {
    assert.throws(() => treeOf(second(fanOut(3))), /a job of BullMQ has one parent/);
    assert.throws(() => treeOf(second([[], [], [0]])), /a flow of BullMQ has one root/);
  });
});
