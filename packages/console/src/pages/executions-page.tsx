import type { ExecutionSummaryBody } from "@mainspring/contract";
import { EXECUTION_STATES } from "@mainspring/contract/enums";
import type { Page } from "../api/answers.ts";
import { queryOf } from "../api/client.ts";
import { type Filter, Filters } from "../parts/filters.tsx";
import { type Column, List, ROWS } from "../parts/list.tsx";
import { Name, ShortId, Span, State, Time } from "../parts/text.tsx";
import { linkTo, route } from "../state/route.ts";
import { useAnswer } from "../state/use-answer.ts";
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

/** Columns of lists of executions. */
export const EXECUTION_COLUMNS: Column<ExecutionSummaryBody>[] = [
  {
    title: TEXTS.id,
    cell: ({ executionId }) => (
      <a href={linkTo(["executions", executionId])}>
        <ShortId of={executionId} />
      </a>
    ),
  },
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
  const { jobId, ...query } = route.value.query;
  const fields = Object.fromEntries(FILTERS.map(({ name }) => [name, query[name]]));
  const path = jobId === undefined ? "executions" : `jobs/${encodeURIComponent(jobId)}/executions`;
  const everyMs = query["cursor"] === undefined ? LIVE_MS : null;
  const answer = useAnswer<Page<ExecutionSummaryBody>>(
    `${path}${queryOf({ ...fields, cursor: query["cursor"], limit: ROWS })}`,
    everyMs,
  );
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
