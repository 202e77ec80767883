import { printable, type WorkflowGraph, type WorkflowNodeState } from "@mainspring/sdk";
import { counted } from "./counted.ts";
import { namesText, statesText } from "./workflow-text.ts";

type Node = WorkflowGraph["nodes"][number];

/** States in the order in which a layer without room for all of its nodes shows them. */
const IMPORTANCE: readonly WorkflowNodeState[] = [
  ...(["DEAD", "RUNNING", "SCHEDULED", "PENDING", "BLOCKED", "CANCELLED", "SKIPPED", "SUCCEEDED"] as const),
];
/** Lines of a layer beside its nodes: the line to the layer before it, and the number of its other nodes. */
const LAYER_LINES = 2;
/** Lines of the picture beside its layers: the heading, an empty line, and the number of further layers. */
const FRAME_LINES = 3;

/** A layer as the picture shows it. */
interface ShownLayer {
  nodes: readonly Node[];
  /** Nodes without a line of their own. */
  others: readonly Node[];
}

/**
 * Draws a graph in layers from top to bottom: each node stands below all nodes that must end first.
 * @param maxLines largest number of lines, at least 10
 */
export function graphText({ nodes, onFailure }: WorkflowGraph, maxLines: number): string {
  const layers = layersOf(nodes);
  const shown = shownLayers(layers, maxLines - FRAME_LINES);
  const numberWidth = String(shown.length).length;
  const nameWidth = Math.max(0, ...shown.flatMap((layer) => layer.nodes.map(({ name }) => printable(name).length)));
  const lines = shown.flatMap((layer, index) => [
    ...(index === 0 ? [] : [`${" ".repeat(numberWidth)}  │`]),
    ...linesOf(layer, nameWidth).map((line, row) => {
      const number = row === 0 ? String(index + 1) : "";
      return `${number.padStart(numberWidth)}  ${line}`.trimEnd();
    }),
  ]);
  const more = layers.slice(shown.length);
  if (more.length > 0) lines.push(`… and ${inLayers(more)} more, each layer below the one before it`);
  return [`${inLayers(layers)}, ${printable(onFailure)}`, "", ...lines].join("\n");
}

function inLayers(layers: readonly (readonly Node[])[]): string {
  const nodes = layers.reduce((sum, layer) => sum + layer.length, 0);
  return `${counted(nodes, "node")} in ${counted(layers.length, "layer")}`;
}

function linesOf({ nodes, others }: ShownLayer, nameWidth: number): string[] {
  const lines = nodes.map((node) => {
    const cells = [printable(node.name).padEnd(nameWidth), printable(node.state).padEnd(9), notesOf(node)];
    return cells.join("  ").trimEnd();
  });
  if (others.length > 0) lines.push(`… and ${others.length} more in this layer: ${statesText(statesOf(others))}`);
  return lines;
}

function statesOf(nodes: readonly Node[]): Partial<Record<WorkflowNodeState, number>> {
  const counts: Partial<Record<WorkflowNodeState, number>> = {};
  for (const { state } of nodes) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Notes about a node: `after a, b (FAILED)`, `after any of a, b`, `added by a`, `detached`, `may fail`, `compensation RUNNING`. */
function notesOf({ dependsOn, join, allowFailure, compensatedBy, compensation, addedBy, detached }: Node): string {
  const names = dependsOn.map(({ node, when }) => (when === "SUCCEEDED" ? node : `${node} (${when})`));
  const after = join === "ANY" && names.length > 1 ? "after any of" : "after";
  const declared = compensatedBy === null ? [] : [`undone by ${compensatedBy}`];
  const undo = compensation === null ? declared : [`compensation ${compensation}`];
  const first = addedBy === null ? [] : [`added by ${addedBy}`];
  const texts = names.length === 0 ? first : [`${after} ${namesText(names, names.length)}`];
  return printable(
    [...texts, ...(detached ? ["detached"] : []), ...(allowFailure ? ["may fail"] : []), ...undo].join("; "),
  );
}

/** The first layers, with as many nodes of each as there are lines for. */
function shownLayers(layers: readonly (readonly Node[])[], maxLines: number): ShownLayer[] {
  const wanted = layers.reduce((sum, layer) => sum + layer.length + 1, 0);
  if (wanted <= maxLines) return layers.map((nodes) => ({ nodes, others: [] }));
  const count = Math.max(1, Math.min(layers.length, Math.floor(maxLines / (LAYER_LINES + 1))));
  const first = layers.slice(0, count);
  const each = fairShare(
    first.map(({ length }) => length),
    maxLines - count * LAYER_LINES,
  );
  return first.map((layer) => {
    if (layer.length <= each + 1) return { nodes: layer, others: [] };
    const byState = layer.toSorted((a, b) => IMPORTANCE.indexOf(a.state) - IMPORTANCE.indexOf(b.state));
    return { nodes: byState.slice(0, each), others: byState.slice(each) };
  });
}

/** Largest number of lines that every layer may have, if small layers leave their rest to large ones. */
function fairShare(sizes: readonly number[], lines: number): number {
  let rest = lines;
  let share = 1;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    share = Math.max(1, Math.floor(rest / (sizes.length - index)));
    if (size > share) return share;
    rest -= size;
  }
  return share;
}

/**
 * Nodes by layer, in the order of the definition. A layer has the nodes whose longest path from a node without
 * dependencies has the same length. An added node stands below the node that has added it, and above the nodes that wait for it.
 */
export function layersOf(nodes: readonly Node[]): Node[][] {
  const { children, open } = edgesOf(nodes);
  const depths = new Uint32Array(open.length);
  const free = open.flatMap((count, index) => (count === 0 ? [index] : []));
  for (const parent of free) {
    for (const child of children[parent] ?? []) {
      // The end of a node's additions is no node, and has no layer of its own.
      const below = child < nodes.length ? 1 : 0;
      depths[child] = Math.max(depths[child] as number, (depths[parent] as number) + below);
      if (--(open[child] as number) === 0) free.push(child);
    }
  }
  const layers: Node[][] = [];
  for (const [index, node] of nodes.entries()) (layers[depths[index] as number] ??= []).push(node);
  return layers;
}

/** Edges between nodes by index. Behind the nodes come the ends of all that a node and its additions do, for nodes with additions. */
function edgesOf(nodes: readonly Node[]): { children: number[][]; open: number[] } {
  const order = new Map(nodes.map(({ name }, index) => [name, index]));
  const spawners = new Set(nodes.flatMap(({ addedBy }) => (addedBy === null ? [] : [order.get(addedBy) ?? 0])));
  const ends = new Map(Array.from(spawners, (spawner, place) => [spawner, nodes.length + place]));
  const count = nodes.length + ends.size;
  const children: number[][] = Array.from({ length: count }, () => []);
  const open = Array.from({ length: count }, () => 0);
  const add = (parent: number, child: number) => {
    children[parent]?.push(child);
    (open[child] as number)++;
  };
  for (const [spawner, end] of ends) add(spawner, end);
  for (const [index, { dependsOn, addedBy, detached }] of nodes.entries()) {
    for (const parent of new Set(dependsOn.flatMap(({ node }) => order.get(node) ?? [])))
      add(ends.get(parent) ?? parent, index);
    const spawner = addedBy === null ? undefined : order.get(addedBy);
    if (spawner === undefined) continue;
    add(spawner, index);
    if (!detached) add(ends.get(index) ?? index, ends.get(spawner) as number);
  }
  return { children, open };
}
