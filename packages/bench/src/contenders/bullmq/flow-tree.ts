import type { BenchFlow } from "../contender.ts";
import type { FlowTree } from "./bullmq-types.ts";

/**
 * A workflow as a tree of BullMQ, whose root is the last job.
 * @throws two nodes wait for one, or several nodes have none that waits for them
 */
export function treeOf({ firstN, nodes }: BenchFlow): FlowTree {
  const trees: FlowTree[] = [];
  const roots = new Set<FlowTree>();
  for (const [index, waitsFor] of nodes.entries()) {
    const children = waitsFor.map((position) => trees[position] as FlowTree);
    if (!children.every((child) => roots.delete(child))) throw new Error("a job of BullMQ has one parent");
    const tree = { name: "noop", queueName: "noop", data: { n: firstN + index }, opts: { removeOnComplete: true } };
    trees.push(children.length === 0 ? tree : { ...tree, children });
    roots.add(trees[index] as FlowTree);
  }
  const [root, ...others] = roots;
  if (root === undefined || others.length > 0) throw new Error("a flow of BullMQ has one root");
  return root;
}
