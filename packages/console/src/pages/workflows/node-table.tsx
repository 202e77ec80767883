import type { Workflow } from "@mainspring/contract";
import { NODE_STATES } from "@mainspring/contract/enums";
import { type Column, Table, usePart } from "../../parts/list.tsx";
import { Name, Span, State, Time } from "../../parts/text.tsx";
import { now } from "../../state/preferences.ts";
import { narrow, route } from "../../state/route.ts";
import { durationText } from "../../text/times.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";
import { NodeLink } from "./run-parts.tsx";
import type { RunNode } from "./use-run.ts";

/** All nodes of a run as a table: the graph for those who do not see it, and the times of the nodes as bars. */
export function NodeTable({ run, nodes }: { run: Workflow; nodes: readonly RunNode[] }) {
  const { query } = route.value;
  const isByStart = query["order"] === "start";
  const matching = nodes.filter(({ state }) => query["state"] === undefined || state === query["state"]);
  const rows = isByStart ? matching.toSorted(byStart) : matching;
  const isCompensated = nodes.some(({ compensation }) => compensation !== null);
  const { from, to, controls } = usePart(rows.length, "START");
  return (
    <section>
      <h2>{WORKFLOW_TEXTS.nodes}</h2>
      <div class="filters">
        <Choice name="state" label={TEXTS.state} options={NODE_STATES.map((state) => [state, state])} all />
        <Choice name="order" label={WORKFLOW_TEXTS.order} options={ORDERS} />
      </div>
      {controls}
      {rows.length === 0 ? (
        <p class="dim">{WORKFLOW_TEXTS.nodesNone}</p>
      ) : (
        <Table
          caption={WORKFLOW_TEXTS.nodes}
          rows={rows.slice(from, to)}
          keyOf={({ name }) => name}
          columns={columnsOf(run, isCompensated)}
        />
      )}
    </section>
  );
}

const ORDERS = [
  ["", WORKFLOW_TEXTS.orders.definition],
  ["start", WORKFLOW_TEXTS.orders.start],
] as const;

interface ChoiceProps {
  name: string;
  label: string;
  options: readonly (readonly [value: string, text: string])[];
  all?: boolean;
}

/** A choice that is part of the address. */
function Choice({ name, label, options, all = false }: ChoiceProps) {
  const value = route.value.query[name] ?? "";
  return (
    <label>
      <span>{label}</span>
      <select onChange={(event) => narrow({ [name]: event.currentTarget.value })}>
        {all && <option value="">{TEXTS.all}</option>}
        {options.map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Nodes that have not started are the last ones. */
function byStart(a: RunNode, b: RunNode): number {
  const startOf = ({ startedAt }: RunNode) => (startedAt === null ? Number.MAX_VALUE : Date.parse(startedAt));
  return startOf(a) - startOf(b);
}

function columnsOf(run: Workflow, isCompensated: boolean): Column<RunNode>[] {
  const startMs = Date.parse(run.startedAt ?? run.createdAt);
  const endMs = run.finishedAt === null ? now.value : Date.parse(run.finishedAt);
  const compensation = {
    title: WORKFLOW_TEXTS.compensation,
    cell: ({ compensation: of }: RunNode) => of !== null && <State of={of.state} />,
  };
  return [
    { title: WORKFLOW_TEXTS.node, cell: ({ name }) => <NodeLink name={name} /> },
    { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
    ...(isCompensated ? [compensation] : []),
    { title: TEXTS.handler, cell: ({ handler }) => <Name of={handler} /> },
    { title: TEXTS.attempt, cell: ({ attempt }) => attempt },
    { title: WORKFLOW_TEXTS.waited, cell: ({ createdAt, startedAt }) => <Span from={createdAt} to={startedAt} /> },
    { title: TEXTS.started, cell: ({ startedAt }) => <Time at={startedAt} /> },
    { title: TEXTS.duration, cell: ({ startedAt, finishedAt }) => <Span from={startedAt} to={finishedAt} /> },
    { title: WORKFLOW_TEXTS.chart, cell: (node) => <Bar {...{ node, startMs, endMs }} /> },
  ];
}

/** Time of a node within the time of its run. */
function Bar({ node, startMs, endMs }: { node: RunNode; startMs: number; endMs: number }) {
  if (node.startedAt === null) return null;
  const whole = Math.max(1, endMs - startMs);
  const from = Math.max(0, Date.parse(node.startedAt) - startMs);
  const long = Math.max(0, (node.finishedAt === null ? now.value : Date.parse(node.finishedAt)) - startMs - from);
  const percent = (ms: number) => `${Math.min(100, (100 * ms) / whole)}%`;
  const text = WORKFLOW_TEXTS.barOf(durationText(from), durationText(long));
  return (
    <svg class="gantt" role="img" aria-label={text}>
      <title>{text}</title>
      {/* A node that was short has a bar of one percent, so that it can be seen. */}
      <rect
        class={`node-${node.state.toLowerCase()}`}
        x={percent(Math.min(from, whole * 0.99))}
        width={percent(Math.max(long, whole * 0.01))}
        height="100%"
      />
    </svg>
  );
}
