import { compilingGraph } from "../../domain/workflow/compile-graph.ts";
import type { OnFailure, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import type { GraphProblem } from "../../domain/workflow/graph-problems.ts";
import type { Turns } from "../../ports/turns.ts";
import { type FieldError, invalid, ProblemError } from "../http/errors.ts";

type Nodes = readonly Pick<WorkflowNode, "name" | "dependsOn" | "join" | "allowFailure" | "map">[];

/**
 * Compiles the graph of a workflow in turns of the event loop.
 * @throws {ProblemError} 400 with the place of each problem and the name of its node
 */
export async function compileWorkflow(nodes: Nodes, onFailure: OnFailure, turns: Turns): Promise<WorkflowGraph> {
  const compiled = await turns.steps(compilingGraph(nodes, onFailure));
  if ("graph" in compiled) return compiled.graph;
  throw new ProblemError(invalid(faultsOf(nodes, compiled.problems)));
}

/** The problems with their places in the request. Several problems of one kind and node have places in their order. */
function faultsOf(nodes: Nodes, problems: readonly GraphProblem[]): FieldError[] {
  const told = new Map<string, number>();
  return problems.map((problem) => {
    const key = `${problem.kind} ${problem.node}`;
    const nth = told.get(key) ?? 0;
    told.set(key, nth + 1);
    return { field: fieldOf(nodes, problem, nth), message: problem.text };
  });
}

function fieldOf(nodes: Nodes, problem: GraphProblem, nth: number): string {
  const named = nodes.flatMap(({ name }, index) => (name === problem.node ? [index] : []));
  switch (problem.kind) {
    case "NO_NODES":
      return "nodes";
    case "DOUBLED_NAME":
      return `nodes[${named[nth + 1] ?? 0}].name`;
    case "BAD_NAME":
      return `nodes[${named[nth] ?? 0}].name`;
    case "TOO_MANY_NODES":
    case "TOO_MANY_EDGES":
    case "TOO_MANY_BRANCHES":
    case "TOO_MANY_MAPS":
      return `nodes[${named[0] ?? 0}]`;
    case "UNKNOWN_PARENT":
    case "BAD_CONDITION":
    case "SELF_EDGE":
    case "DOUBLED_EDGE":
    case "CYCLE":
      return edgeField(nodes, named, problem, nth);
  }
}

function edgeField(nodes: Nodes, named: readonly number[], problem: GraphProblem, nth: number): string {
  const isWrong = wrongEdge(nodes, problem);
  const places = named.flatMap((index) =>
    (nodes[index]?.dependsOn ?? []).flatMap((_, place, edges) =>
      isWrong(edges, place) ? [`nodes[${index}].dependsOn[${place}]`] : [],
    ),
  );
  return places[nth] ?? `nodes[${named[0] ?? 0}].dependsOn`;
}

/** Test whether an edge of the problem's node is one that the problem is about. */
function wrongEdge(nodes: Nodes, problem: GraphProblem): (edges: WorkflowNode["dependsOn"], place: number) => boolean {
  const { kind, node, cycle } = problem;
  if (kind === "SELF_EDGE") return (edges, place) => edges[place]?.node === node;
  if (kind === "CYCLE") return (edges, place) => edges[place]?.node === cycle?.at(-2);
  if (kind === "DOUBLED_EDGE") {
    const seen = new Set<string>();
    return (edges, place) => {
      const edge = `${edges[place]?.node} ${edges[place]?.when}`;
      const isDoubled = seen.has(edge);
      seen.add(edge);
      return isDoubled;
    };
  }
  const names = new Set(nodes.map(({ name }) => name));
  return (edges, place) => kind === "UNKNOWN_PARENT" && !names.has(edges[place]?.node ?? "");
}
