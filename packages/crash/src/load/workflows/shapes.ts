import type { Graph, GraphNode } from "../../history/workflow-events.ts";
import type { SeededRandom } from "../../seeded-random.ts";

/** Nodes of one workflow, and its effect of a failed node. */
export interface Drawn {
  onFailure: Graph["onFailure"];
  nodes: GraphNode[];
}

export interface Shape {
  name: string;
  /** Relative frequency of the shape. */
  weight: number;
  draw(random: SeededRandom): Drawn;
}

export const SHAPES: readonly Shape[] = [
  { name: "chain", weight: 3, draw: chain },
  { name: "diamond", weight: 3, draw: diamond },
  { name: "fan", weight: 2, draw: fan },
  { name: "any", weight: 3, draw: any },
  { name: "branch", weight: 3, draw: branch },
  { name: "fail-fast", weight: 3, draw: failFast },
  { name: "allowed", weight: 3, draw: allowed },
  { name: "continue", weight: 2, draw: goesOn },
];

/** Creates a node. @param dependsOn its parents: `name`, or `name WHEN` */
function node(name: string, dependsOn: readonly string[] = [], rest: Partial<GraphNode> = {}): GraphNode {
  const edges = dependsOn.map((text) => {
    const [parent = "", when = "SUCCEEDED"] = text.split(" ");
    return { node: parent, when };
  });
  const plain = { join: "ALL", allowFailure: false, isDoomed: false, branch: null } as const;
  return { name, dependsOn: edges, ...plain, refersTo: [], ...rest };
}

function named(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

function chain(random: SeededRandom): Drawn {
  const names = named("link", random.between(3, 5));
  return { onFailure: "FAIL_FAST", nodes: names.map((name, index) => node(name, names.slice(0, index).slice(-1))) };
}

function diamond(): Drawn {
  const sides = [node("left", ["top"]), node("right", ["top"])];
  return { onFailure: "FAIL_FAST", nodes: [node("top"), ...sides, node("bottom", ["left", "right"])] };
}

function fan(random: SeededRandom): Drawn {
  const parts = named("part", random.between(8, 12));
  const nodes = [node("split"), ...parts.map((part) => node(part, ["split"])), node("join", parts)];
  return { onFailure: "FAIL_FAST", nodes };
}

/** The first of several parents is enough, also where one of them is doomed. */
function any(random: SeededRandom): Drawn {
  const isDoomed = random.chance(0.3);
  const parents = [node("one"), node("other", [], { isDoomed, allowFailure: isDoomed }), node("third")];
  const first = node("first", ["one", "other", "third"], { join: "ANY" });
  return { onFailure: "FAIL_FAST", nodes: [...parents, first, node("last", ["first"])] };
}

/** One of two branches runs. The end comes after both, of which one is skipped. */
function branch(random: SeededRandom): Drawn {
  const nodes = [
    node("choose", [], { branch: random.chance(0.5) ? "left" : "right" }),
    node("go-left", ["choose BRANCH:left"]),
    node("go-right", ["choose BRANCH:right"]),
    node("either", ["go-left", "go-right"], { join: "ANY" }),
    node("end", ["go-left FINISHED", "go-right FINISHED"]),
  ];
  return { onFailure: "FAIL_FAST", nodes };
}

/** A run that fails: the rescue and its child still run, and nodes that are under way may be cancelled. */
function failFast(random: SeededRandom): Drawn {
  const nodes = [
    node("start"),
    node("doomed", random.chance(0.5) ? ["start"] : [], { isDoomed: true }),
    node("after-doomed", ["doomed"]),
    node("beside", ["start"]),
    node("after-beside", ["beside"]),
    node("rescue", ["doomed FAILED"]),
    node("after-rescue", ["rescue"]),
  ];
  return { onFailure: "FAIL_FAST", nodes };
}

/** A run that succeeds although one of its nodes always fails. */
function allowed(): Drawn {
  const nodes = [
    node("doomed", [], { isDoomed: true, allowFailure: true }),
    node("beside"),
    node("after-doomed", ["doomed"]),
    node("after-both", ["doomed FINISHED", "beside"]),
    node("end", ["after-doomed FINISHED", "after-both"]),
  ];
  return { onFailure: "CONTINUE", nodes };
}

/** A run that is DEAD at the end, and runs before that every node whose own parents allow it. */
function goesOn(): Drawn {
  const nodes = [
    node("doomed", [], { isDoomed: true }),
    node("beside"),
    node("after-beside", ["beside"]),
    node("after-doomed", ["doomed"]),
    node("rescue", ["doomed FAILED", "after-beside"]),
  ];
  return { onFailure: "CONTINUE", nodes };
}
