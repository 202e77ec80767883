import type { JobSummaryBody } from "@mainspring/contract";
import { JOB_STATES, JOB_TYPES } from "@mainspring/contract/enums";
import type { Page } from "../api/answers.ts";
import { queryOf } from "../api/client.ts";
import { type Filter, Filters } from "../parts/filters.tsx";
import { type Column, List, ROWS } from "../parts/list.tsx";
import { Name, ShortId, State, Time } from "../parts/text.tsx";
import { linkTo, route } from "../state/route.ts";
import { useAnswer } from "../state/use-answer.ts";
import { TEXTS } from "../texts.ts";

const FILTERS: Filter[] = [
  { name: "state", label: TEXTS.state, values: JOB_STATES },
  { name: "type", label: TEXTS.type, values: JOB_TYPES },
  { name: "pool", label: TEXTS.pool },
  { name: "handler", label: TEXTS.handler },
  { name: "name", label: TEXTS.name },
  { name: "label", label: TEXTS.label, hint: "key=value" },
  { name: "idPrefix", label: TEXTS.idPrefix },
];

const COLUMNS: Column<JobSummaryBody>[] = [
  {
    title: TEXTS.id,
    cell: ({ jobId }) => (
      <a href={linkTo(["jobs", jobId])}>
        <ShortId of={jobId} />
      </a>
    ),
  },
  { title: TEXTS.name, cell: ({ name }) => <Name of={name} /> },
  { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
  { title: TEXTS.type, cell: ({ type }) => type },
  { title: TEXTS.handler, cell: ({ target }) => <Name of={target.handler} /> },
  { title: TEXTS.pool, cell: ({ target }) => <Name of={target.pool} /> },
  { title: TEXTS.nextFire, cell: ({ nextFireAt }) => <Time at={nextFireAt} /> },
  { title: TEXTS.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The list of jobs, newest first. */
export function JobsPage() {
  const { query } = route.value;
  const fields = Object.fromEntries(FILTERS.map(({ name }) => [name, query[name]]));
  const answer = useAnswer<Page<JobSummaryBody>>(`jobs${queryOf({ ...fields, cursor: query["cursor"], limit: ROWS })}`);
  return (
    <>
      <Filters filters={FILTERS} />
      <List
        caption={TEXTS.jobs}
        answer={answer}
        columns={COLUMNS}
        keyOf={({ jobId }) => jobId}
        empty={{ title: TEXTS.jobsNone, help: TEXTS.jobsNoneHelp }}
      />
    </>
  );
}
