import type { WorkflowGraphBody } from "@mainspring/contract";

type Nodes = WorkflowGraphBody["nodes"];

/** The graph as a Mermaid flowchart. A dotted edge leads from a node to the nodes that its handler has added, and that depend on no others. */
export function mermaidOf(nodes: Nodes): string {
  const ids = idsOf(nodes);
  const lines = nodes.map(
    (node, index) => `  n${index}["${mermaidText(node.name)}<br/>${statesOf(node).join("<br/>")}"]`,
  );
  for (const [index, { dependsOn, addedBy }] of nodes.entries()) {
    for (const { node, when } of dependsOn) {
      const label = when === "SUCCEEDED" ? "" : `|"${mermaidText(when)}"|`;
      lines.push(`  n${ids.get(node)} -->${label} n${index}`);
    }
    const spawner = ids.get(addedBy ?? "");
    if (spawner !== undefined && dependsOn.length === 0) lines.push(`  n${spawner} -.-> n${index}`);
  }
  return `flowchart LR\n${lines.join("\n")}\n`;
}

/** The graph in the language of Graphviz. The edges to added nodes that depend on no others are dashed. */
export function dotOf(nodes: Nodes): string {
  const ids = idsOf(nodes);
  const lines = nodes.map((node, index) => {
    return `  n${index} [label=${dotText([node.name, ...statesOf(node)].join("\n"))}];`;
  });
  for (const [index, { dependsOn, addedBy }] of nodes.entries()) {
    for (const { node, when } of dependsOn) {
      const label = when === "SUCCEEDED" ? "" : ` [label=${dotText(when)}]`;
      lines.push(`  n${ids.get(node)} -> n${index}${label};`);
    }
    const spawner = ids.get(addedBy ?? "");
    if (spawner !== undefined && dependsOn.length === 0) lines.push(`  n${spawner} -> n${index} [style=dashed];`);
  }
  return `digraph workflow {\n  rankdir=LR;\n  node [shape=box];\n${lines.join("\n")}\n}\n`;
}

/** State of a node, and of its compensation if the run compensates the node. */
function statesOf({ state, compensation }: Nodes[number]): string[] {
  return compensation === null ? [state] : [state, `compensation ${compensation}`];
}

function idsOf(nodes: Nodes): ReadonlyMap<string, number> {
  return new Map(nodes.map(({ name }, index) => [name, index]));
}

/** Escapes every character that could end a text or be markup in it. */
function mermaidText(text: string): string {
  return text.replace(/[^A-Za-z0-9_.:-]/gu, (character) => `#${character.codePointAt(0)};`);
}

function dotText(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}
