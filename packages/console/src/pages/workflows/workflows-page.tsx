import type { WorkflowSummary } from "@mainspring/contract";
import { EXECUTION_STATES } from "@mainspring/contract/enums";
import { type Filter, Filters } from "../../parts/filters.tsx";
import { type Column, List, useList } from "../../parts/list.tsx";
import { IdLink, Name, Span, State, Time } from "../../parts/text.tsx";
import { countText } from "../../text/figures.ts";
import { WORKFLOW_TEXTS } from "../../texts/workflow-texts.ts";
import { TEXTS } from "../../texts.ts";

const LIVE_MS = 3_000;
const FILTERS: Filter[] = [
  { name: "state", label: TEXTS.state, values: EXECUTION_STATES },
  { name: "name", label: WORKFLOW_TEXTS.name },
  { name: "parent", label: WORKFLOW_TEXTS.parent },
  { name: "since", label: TEXTS.since, hint: TEXTS.timeHint },
  { name: "until", label: TEXTS.until, hint: TEXTS.timeHint },
];

const COLUMNS: Column<WorkflowSummary>[] = [
  { title: TEXTS.id, cell: ({ workflowId }) => <IdLink page="workflows" id={workflowId} /> },
  { title: TEXTS.name, cell: ({ name }) => <Name of={name} /> },
  {
    title: TEXTS.state,
    cell: ({ state, paused }) => (
      <>
        <State of={state} /> {paused && <State of="PAUSED" />}
      </>
    ),
  },
  { title: WORKFLOW_TEXTS.mode, cell: ({ mode }) => mode ?? "" },
  { title: WORKFLOW_TEXTS.nodes, cell: ({ nodes }) => countText(nodes) },
  { title: TEXTS.scheduled, cell: ({ scheduledAt }) => <Time at={scheduledAt} /> },
  { title: TEXTS.started, cell: ({ startedAt }) => <Time at={startedAt} /> },
  { title: TEXTS.duration, cell: ({ startedAt, finishedAt }) => <Span from={startedAt} to={finishedAt} /> },
];

/** The list of runs of workflows, newest first. */
export function WorkflowsPage() {
  const answer = useList<WorkflowSummary>("workflows", FILTERS, LIVE_MS);
  return (
    <>
      <Filters filters={FILTERS} />
      <List
        caption={WORKFLOW_TEXTS.workflows}
        answer={answer}
        columns={COLUMNS}
        keyOf={({ workflowId }) => workflowId}
        empty={{ title: WORKFLOW_TEXTS.none, help: WORKFLOW_TEXTS.noneHelp }}
      />
    </>
  );
}
