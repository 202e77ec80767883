import { useMemo } from "preact/hooks";
import { linkTo, route } from "../../state/route.ts";
import { countText } from "../../text/figures.ts";
import { groupedBy } from "../../text/grouped.ts";
import { visible } from "../../text/visible.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { BOX, type GraphLayout, layoutOf } from "./graph-layout.ts";
import type { RunNode } from "./use-run.ts";
import { useViewport } from "./use-viewport.ts";
import type { Size, Viewport } from "./viewport.ts";

/** Boxes with names in the document at once. Where more are in view, all boxes of a state are one shape without names. */
const NAMED_MAX = 150;
/** Smallest scale at which people can read names. */
const NAMED_SCALE = 0.4;
const NAME_CHARS = 22;

interface GraphViewProps {
  nodes: readonly RunNode[];
  /** Names of the nodes of the critical path. */
  path: readonly string[];
}

/** The graph of a run with the states of its nodes. */
export function GraphView({ nodes, path }: GraphViewProps) {
  const shape = nodes.map(({ name, parents }) => `${name}\n${parents.join("\n")}`).join("\n\n");
  const layout = useMemo(() => layoutOf(nodes), [shape]);
  const choose = (at: { x: number; y: number }) => {
    const number = layout.places.findIndex((place) => isIn(place, at));
    const { name } = nodes[number] ?? {};
    if (name !== undefined) location.hash = linkTo(route.value.path, { ...route.value.query, node: name });
  };
  const { place, size, view, zoom, showAll } = useViewport(layout, choose);
  const inView = numbersInView(layout, view, size);
  const isNamed = inView.length <= NAMED_MAX && view.scale >= NAMED_SCALE;
  const states = groupedBy(nodes, ({ state }) => state).map(
    (group) => `${countText(group.members.length)} ${group.name}`,
  );
  return (
    <section>
      <h2>{WORKFLOW_TEXTS.graph}</h2>
      <p class="row">
        <button type="button" onClick={() => zoom(1.5)}>
          {WORKFLOW_TEXTS.zoomIn}
        </button>
        <button type="button" onClick={() => zoom(1 / 1.5)}>
          {WORKFLOW_TEXTS.zoomOut}
        </button>
        <button type="button" onClick={showAll}>
          {WORKFLOW_TEXTS.showAll}
        </button>
        <span class="dim">{isNamed ? WORKFLOW_TEXTS.dragHelp : WORKFLOW_TEXTS.closeUp}</span>
      </p>
      <svg
        ref={place}
        class="graph"
        role="img"
        aria-label={WORKFLOW_TEXTS.graphOf(countText(nodes.length), states.join(", "))}
      >
        <g transform={`scale(${view.scale}) translate(${-view.x} ${-view.y})`}>
          {isNamed ? <Named {...{ nodes, path, layout, inView }} /> : <Shapes {...{ nodes, path, layout, inView }} />}
        </g>
      </svg>
    </section>
  );
}

function isIn(place: { x: number; y: number }, at: { x: number; y: number }): boolean {
  const [x, y] = [at.x - place.x, at.y - place.y];
  return x >= 0 && x <= BOX.width && y >= 0 && y <= BOX.height;
}

function numbersInView({ places }: GraphLayout, { x, y, scale }: Viewport, { width, height }: Size): number[] {
  const [right, bottom] = [x + width / scale, y + height / scale];
  const isSeen = (at: { x: number; y: number }) =>
    at.x <= right && at.x + BOX.width >= x && at.y <= bottom && at.y + BOX.height >= y;
  return places.flatMap((at, number) => (isSeen(at) ? [number] : []));
}

interface DrawnProps extends GraphViewProps {
  layout: GraphLayout;
  /** Numbers of the nodes in view. */
  inView: readonly number[];
}

/** Boxes with names, and the edges at them. */
function Named({ nodes, path, layout, inView }: DrawnProps) {
  const chosen = route.value.query["node"];
  const drawn = new Set(inView);
  return (
    <>
      <Edges
        {...{ nodes, path }}
        layout={{ ...layout, edges: layout.edges.filter((edge) => edge.some((end) => drawn.has(end))) }}
      />
      {inView.map((number) => {
        const node = nodes[number];
        const { x, y } = layout.places[number] ?? { x: 0, y: 0 };
        if (node === undefined) return null;
        const marks = `${path.includes(node.name) ? " critical" : ""}${node.name === chosen ? " chosen" : ""}`;
        return (
          <g key={node.name} transform={`translate(${x} ${y})`}>
            <rect class={`box node-${node.state.toLowerCase()}${marks}`} width={BOX.width} height={BOX.height} rx={5} />
            <text x={10} y={17}>
              {shortened(node.name)}
            </text>
            <text class="below" x={10} y={33}>
              {node.state}
            </text>
          </g>
        );
      })}
    </>
  );
}

function shortened(name: string): string {
  const text = visible(name);
  return text.length > NAME_CHARS ? `${text.slice(0, NAME_CHARS)}…` : text;
}

/** All boxes of a state as one shape, so that a graph of thousands of nodes needs few elements. */
function Shapes({ nodes, path, layout, inView }: DrawnProps) {
  const groups = groupedBy(inView, (number) => nodes[number]?.state ?? "");
  return (
    <>
      <Edges {...{ nodes, path, layout }} />
      {groups.map(({ name, members }) => (
        <path
          key={name}
          class={`box node-${name.toLowerCase()}`}
          d={members.map((number) => boxOf(layout, number)).join("")}
        />
      ))}
    </>
  );
}

function boxOf({ places }: GraphLayout, number: number): string {
  const { x, y } = places[number] ?? { x: 0, y: 0 };
  return `M${x} ${y}h${BOX.width}v${BOX.height}h${-BOX.width}z`;
}

function Edges({ nodes, path, layout: { edges, places } }: Omit<DrawnProps, "inView">) {
  const next = new Map(path.slice(1).map((name, place) => [path[place], name]));
  const isCritical = ([from, to]: readonly [number, number]) => next.get(nodes[from]?.name) === nodes[to]?.name;
  const curve = ([from, to]: readonly [number, number]) => {
    const [a, b] = [places[from] ?? { x: 0, y: 0 }, places[to] ?? { x: 0, y: 0 }];
    const [fromX, fromY, toY] = [a.x + BOX.width, a.y + BOX.height / 2, b.y + BOX.height / 2];
    const bend = Math.max(BOX.gapX, (b.x - fromX) / 3);
    return `M${fromX} ${fromY}C${fromX + bend} ${fromY} ${b.x - bend} ${toY} ${b.x} ${toY}`;
  };
  return (
    <>
      <path class="edges" d={edges.map(curve).join("")} />
      <path class="edges critical" d={edges.filter(isCritical).map(curve).join("")} />
    </>
  );
}
