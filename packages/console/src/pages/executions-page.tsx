import type { ExecutionSummaryBody } from "@mainspring/contract";
import { EXECUTION_STATES } from "@mainspring/contract/enums";
import { type Filter, Filters } from "../parts/filters.tsx";
import { type Column, List, useList } from "../parts/list.tsx";
import { IdLink, Name, Span, State, Time } from "../parts/text.tsx";
import { route } from "../state/route.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 2_000;
const FILTERS: Filter[] = [
  { name: "state", label: TEXTS.state, values: EXECUTION_STATES },
  { name: "pool", label: TEXTS.pool },
  { name: "handler", label: TEXTS.handler },
  { name: "jobId", label: TEXTS.jobId },
  { name: "idPrefix", label: TEXTS.idPrefix },
  { name: "since", label: TEXTS.since, hint: TEXTS.timeHint },
  { name: "until", label: TEXTS.until, hint: TEXTS.timeHint },
];

/** Filters that are fields of the query; the job is a part of the path. */
const FIELDS = FILTERS.filter(({ name }) => name !== "jobId");

/** Columns of lists of executions. */
export const EXECUTION_COLUMNS: Column<ExecutionSummaryBody>[] = [
  { title: TEXTS.id, cell: ({ executionId }) => <IdLink page="executions" id={executionId} /> },
  { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
  { title: TEXTS.handler, cell: ({ handler }) => <Name of={handler} /> },
  { title: TEXTS.pool, cell: ({ pool }) => <Name of={pool} /> },
  { title: TEXTS.attempt, cell: ({ attempt, maxAttempts }) => `${attempt} / ${maxAttempts}` },
  { title: TEXTS.scheduled, cell: ({ scheduledAt }) => <Time at={scheduledAt} /> },
  { title: TEXTS.started, cell: ({ startedAt }) => <Time at={startedAt} /> },
  {
    title: TEXTS.duration,
    cell: ({ startedAt, finishedAt }) => <Span from={startedAt} to={finishedAt} />,
  },
  { title: TEXTS.worker, cell: ({ assignedWorker }) => <Name of={assignedWorker} /> },
];

/** The list of executions, newest first. The first page is live. */
export function ExecutionsPage() {
  const { jobId } = route.value.query;
  const path = jobId === undefined ? "executions" : `jobs/${encodeURIComponent(jobId)}/executions`;
  const answer = useList<ExecutionSummaryBody>(path, FIELDS, LIVE_MS);
  return (
    <>
      <Filters filters={FILTERS} />
      <List
        caption={TEXTS.executions}
        answer={answer}
        columns={EXECUTION_COLUMNS}
        keyOf={({ executionId }) => executionId}
        empty={{ title: TEXTS.executionsNone, help: TEXTS.executionsNoneHelp }}
      />
    </>
  );
}
