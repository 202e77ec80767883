import type { NewPart, WorkflowNode } from "@mainspring/server/testing";
import { Violation } from "../checker.ts";
import type { Graph } from "./graphs-come-out-right.ts";

/** Node that a handler adds to its run, with the names that the run gives it and the nodes before it. */
export interface SpawnedNode extends WorkflowNode {
  /** Name of the node whose handler adds this one. */
  spawner: string;
}

interface Part {
  spawner: number;
  first: number;
  nodes: readonly SpawnedNode[];
}

/** Nodes of a run by number: those of its workflow, and those that its handlers have added. */
export class PartAccount {
  readonly #graph: Graph;
  readonly #parts: Part[] = [];
  readonly #added = new Map<number, SpawnedNode>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  /** The workflow with the added nodes. */
  get graph(): Graph {
    return this.#added.size === 0
      ? this.#graph
      : { ...this.#graph, nodes: [...this.#graph.nodes, ...this.#added.values()] };
  }

  nodeOf(number: number): WorkflowNode | undefined {
    return this.#graph.nodes[number] ?? this.#added.get(number);
  }

  /** Nodes that the handler of a node adds when it succeeds; left out: none. */
  expected(number: number): readonly SpawnedNode[] | undefined {
    return this.#graph.spawns?.get(this.nodeOf(number)?.name ?? "");
  }

  /** @throws {Violation} the part is not the one that the handler has added, or has numbers of other nodes */
  add({ run, spawner, first, nodes: count }: Pick<NewPart, "run" | "spawner" | "first" | "nodes">): void {
    const nodes = this.expected(spawner);
    if (nodes?.length !== count)
      throw new Violation(`the node ${spawner} of ${run} has added ${count} nodes instead of ${nodes?.length ?? 0}`);
    if (this.#parts.some((part) => part.spawner === spawner))
      throw new Violation(`the node ${spawner} of ${run} has added nodes twice`);
    for (const [place, node] of nodes.entries()) {
      if (this.nodeOf(first + place) !== undefined)
        throw new Violation(`the node ${spawner} of ${run} has added ${first + place}, which is another node`);
      this.#added.set(first + place, node);
    }
    this.#parts.push({ spawner, first, nodes });
  }

  /** Takes over the parts of an earlier run whose spawners a retry keeps. */
  keep(base: PartAccount | undefined, kept: ReadonlySet<number>): void {
    if (base === undefined) return;
    for (const part of base.#parts) {
      if (!kept.has(part.spawner) || this.#parts.some(({ spawner }) => spawner === part.spawner)) continue;
      this.#parts.push(part);
      for (const [place, node] of part.nodes.entries()) this.#added.set(part.first + place, node);
    }
  }
}

/** Nodes that the handler of a node has added, and for which the nodes after it wait. */
export function heldBy(nodes: readonly WorkflowNode[], spawner: string): SpawnedNode[] {
  return nodes.flatMap((node) =>
    "spawner" in node && (node as SpawnedNode).spawner === spawner && node.detached !== true
      ? [node as SpawnedNode]
      : [],
  );
}
