import type { JobSummaryBody } from "@mainspring/contract";
import { JOB_STATES, JOB_TYPES } from "@mainspring/contract/enums";
import { type Filter, Filters } from "../parts/filters.tsx";
import { type Column, List, useList } from "../parts/list.tsx";
import { IdLink, Name, State, Time } from "../parts/text.tsx";
import { may } from "../state/session.ts";
import { TEXTS } from "../texts.ts";
import { TrySchedule } from "./schedules/try-schedule.tsx";

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
  { title: TEXTS.id, cell: ({ jobId }) => <IdLink page="jobs" id={jobId} /> },
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
  const answer = useList<JobSummaryBody>("jobs", FILTERS);
  return (
    <>
      <Filters filters={FILTERS} />
      {may("jobs:submit") && <TrySchedule />}
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
