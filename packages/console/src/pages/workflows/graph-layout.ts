/** Size of the box of a node, and the gaps between boxes, in units of the drawing. */
export const BOX = { width: 170, height: 40, gapX: 60, gapY: 14 } as const;
/** Boxes in one column. A layer with more nodes has several columns. */
const COLUMN_MAX = 40;
/** Passes that move nodes towards their neighbours. */
const PASSES = 6;

export interface GraphNode {
  name: string;
  /** Names of the nodes before it. Unknown names are left out. */
  parents: readonly string[];
}

/** Upper left corner of a box. */
export interface Place {
  x: number;
  y: number;
}

export interface GraphLayout {
  /** Places by number of the node. */
  places: readonly Place[];
  /** Edges as numbers of nodes: [from, to]. */
  edges: readonly (readonly [number, number])[];
  width: number;
  height: number;
}

/**
 * Places the nodes of a graph from left to right: each node has a layer behind those of its parents, and within a layer nodes are
 * near their neighbours. The time grows with the number of edges, not with its square, so that the page may wait for it.
 */
export function layoutOf(nodes: readonly GraphNode[]): GraphLayout {
  const numbers = new Map(nodes.map(({ name }, number) => [name, number]));
  const parents = nodes.map((node) => node.parents.flatMap((name) => numbers.get(name) ?? []));
  const children = nodes.map((): number[] => []);
  for (const [node, before] of parents.entries()) for (const parent of before) children[parent]?.push(node);
  const layers = ordered(layersOf(parents, children), parents, children);
  const edges = parents.flatMap((before, node) => before.map((parent) => [parent, node] as const));
  return { ...placed(layers, nodes.length), edges };
}

type Neighbours = readonly (readonly number[])[];

/** Layers of nodes: the longest way from a node without parents to a node of layer n has n edges. Nodes of a cycle, which no server sends, are left in layer 0. */
function layersOf(parents: Neighbours, children: Neighbours): number[][] {
  const layer = parents.map(() => 0);
  const open = parents.map((before) => before.length);
  const ready = open.flatMap((count, node) => (count === 0 ? [node] : []));
  for (const node of ready)
    for (const child of children[node] ?? []) {
      layer[child] = Math.max(layer[child] ?? 0, (layer[node] ?? 0) + 1);
      open[child] = (open[child] ?? 0) - 1;
      if (open[child] === 0) ready.push(child);
    }
  const layers: number[][] = [];
  for (const [node, number] of layer.entries()) (layers[number] ??= []).push(node);
  return layers;
}

/** Sorts the nodes of each layer by the mean place of their neighbours in turns: first their parents, then their children. */
function ordered(layers: number[][], parents: Neighbours, children: Neighbours): number[][] {
  const at = parents.map(() => 0);
  const spread = (layer: readonly number[]) => {
    for (const [place, node] of layer.entries()) at[node] = place - (layer.length - 1) / 2;
  };
  for (const layer of layers) spread(layer);
  for (let pass = 0; pass < PASSES; pass++) {
    const neighbours = pass % 2 === 0 ? parents : children;
    for (const layer of pass % 2 === 0 ? layers : layers.toReversed()) {
      const wanted = new Map(layer.map((node) => [node, meanOf(neighbours[node] ?? [], at) ?? at[node] ?? 0]));
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      spread(layer);
    }
  }
  return layers;
}

function meanOf(nodes: readonly number[], at: readonly number[]): number | null {
  if (nodes.length === 0) return null;
  return nodes.reduce((sum, node) => sum + (at[node] ?? 0), 0) / nodes.length;
}

function placed(layers: readonly number[][], count: number): Omit<GraphLayout, "edges"> {
  const places: Place[] = Array.from({ length: count }, () => ({ x: 0, y: 0 }));
  const [stepX, stepY] = [BOX.width + BOX.gapX, BOX.height + BOX.gapY];
  const rows = Math.min(COLUMN_MAX, Math.max(1, ...layers.map((layer) => layer.length)));
  let column = 0;
  for (const layer of layers) {
    const columns = Math.ceil(layer.length / COLUMN_MAX);
    const inColumn = Math.ceil(layer.length / columns);
    for (const [place, node] of layer.entries())
      places[node] = {
        x: (column + Math.floor(place / inColumn)) * stepX,
        y: ((rows - Math.min(inColumn, layer.length)) / 2 + (place % inColumn)) * stepY,
      };
    column += columns;
  }
  return { places, width: Math.max(1, column) * stepX - BOX.gapX, height: rows * stepY - BOX.gapY };
}
