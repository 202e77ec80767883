import type { ExecutionCountBody, ExecutionFilter, ExecutionSummaryBody } from "@mainspring/contract";
import { EXECUTION_STATES } from "@mainspring/contract/enums";
import { useRef } from "preact/hooks";
import { queryOf } from "../api/client.ts";
import { type Filter, Filters } from "../parts/filters.tsx";
import { type Column, List, useList } from "../parts/list.tsx";
import { IdLink, Name, Span, State, Time } from "../parts/text.tsx";
import { route } from "../state/route.ts";
import { useAnswer } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";
import { boundedText, ExecutionRuns } from "./execution-runs.tsx";

const LIVE_MS = 2_000;
const COUNT_MS = 10_000;
/** The same once the count is above its bound, where it stays for long. */
const MANY_MS = 60_000;
const FILTERS: Filter[] = [
  { name: "state", label: TEXTS.state, values: EXECUTION_STATES },
  { name: "pool", label: TEXTS.pool },
  { name: "handler", label: TEXTS.handler },
  { name: "jobId", label: TEXTS.jobId },
  { name: "label", label: TEXTS.label, hint: TEXTS.labelHint },
  { name: "error", label: TEXTS.errorText, hint: TEXTS.errorHint },
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

/** Filter of a run over the executions of the list. */
function filterOf({ label, ...given }: Record<string, string | undefined>): ExecutionFilter {
  return { ...given, ...(label !== undefined && { label: [label] }) } as ExecutionFilter;
}

/** The list of executions, newest first. The first page is live. */
export function ExecutionsPage() {
  const { query } = route.value;
  const { jobId } = query;
  const path = jobId === undefined ? "executions" : `jobs/${encodeURIComponent(jobId)}/executions`;
  const answer = useList<ExecutionSummaryBody>(path, FIELDS, LIVE_MS);
  const given = Object.fromEntries(FILTERS.flatMap(({ name }) => (query[name] ? [[name, query[name]]] : [])));
  const isMany = useRef(false);
  const count = useAnswer<ExecutionCountBody>(`execution-count${queryOf(given)}`, isMany.current ? MANY_MS : COUNT_MS);
  isMany.current = count.data?.hasMore === true;
  const isCut = answer.data !== null && answer.data.nextCursor !== null;
  return (
    <>
      <Filters filters={FILTERS} />
      <ExecutionRuns filter={filterOf(given)} reload={answer.reload} />
      {count.data !== null && <p class="dim">{TEXTS.executionsMatch(boundedText(count.data))}</p>}
      <List
        caption={TEXTS.executions}
        answer={answer}
        columns={EXECUTION_COLUMNS}
        keyOf={({ executionId }) => executionId}
        empty={
          isCut
            ? { title: TEXTS.noneSoFar, help: TEXTS.noneSoFarHelp }
            : { title: TEXTS.executionsNone, help: TEXTS.executionsNoneHelp }
        }
      />
    </>
  );
}
