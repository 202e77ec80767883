import type { Graph, GraphNode } from "../../history/workflow-events.ts";

/** Node of a graph. @param parents its parents: `name`, or `name WHEN` */
export function node(name: string, parents: readonly string[] = [], rest: Partial<GraphNode> = {}): GraphNode {
  const dependsOn = parents.map((text) => {
    const [parent = "", when = "SUCCEEDED"] = text.split(" ");
    return { node: parent, when };
  });
  return { name, dependsOn, join: "ALL", allowFailure: false, isDoomed: false, branch: null, refersTo: [], ...rest };
}

export function graph(nodes: GraphNode[], rest: Partial<Graph> = {}): Graph {
  return { onFailure: "FAIL_FAST", uniqueKey: null, output: null, nodes, ...rest };
}
