import type { JobBody } from "@mainspring/contract";
import type { NextFires } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { Failure, Loading } from "../parts/failure.tsx";
import { Figure, Labels } from "../parts/figure.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { lazily } from "../parts/lazily.tsx";
import { Table } from "../parts/list.tsx";
import { SureButton } from "../parts/sure-button.tsx";
import { Name, State, Time } from "../parts/text.tsx";
import { linkTo } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { durationText } from "../text/times.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";
import { EXECUTION_COLUMNS } from "./executions-page.tsx";
import { Backfill } from "./schedules/backfill.tsx";
import { FireList, Words } from "./schedules/schedule-preview.tsx";
import { TrySchedule } from "./schedules/try-schedule.tsx";

const CalendarView = lazily(async () => (await import("./schedules/calendar-view.tsx")).CalendarView);
const EditJob = lazily(async () => (await import("./schedules/edit-job.tsx")).EditJob);
const EVERY_MS = 5_000;

/** One job: its definition, its next fires, and its newest executions. */
export function JobPage({ id }: { id: string }) {
  const { data, failure, reload } = useAnswer<JobBody>(`jobs/${encodeURIComponent(id)}`, EVERY_MS);
  return (
    <>
      <Failure of={failure} retry={reload} />
      {data === null && failure === null && <Loading />}
      {data !== null && <Details job={data} reload={reload} />}
    </>
  );
}

function Details({ job, reload }: { job: JobBody; reload(): void }) {
  const isRecurring = job.type !== "ONCE";
  return (
    <>
      <p>
        <Name of={job.name ?? job.jobId} /> <State of={job.state} />
      </p>
      {isRecurring && <Actions {...{ job, reload }} />}
      <Facts {...{ job }} />
      {isRecurring && <Fires key={`fires ${job.version}`} job={job} />}
      {isRecurring && <CalendarView key={`calendar ${job.version}`} job={job} />}
      {job.type === "CRON" && may("jobs:submit") && <TrySchedule {...scheduleFields(job)} />}
      {may("jobs:write") && (job.state === "ACTIVE" || job.state === "PAUSED") && <EditJob {...{ job, reload }} />}
      {isRecurring && may("jobs:write") && job.state !== "DELETED" && <Backfill job={job} done={reload} />}
      <section>
        <h2>{TEXTS.latestExecutions}</h2>
        <Table
          caption={TEXTS.latestExecutions}
          rows={job.latestExecutions}
          keyOf={({ executionId }) => executionId}
          columns={EXECUTION_COLUMNS}
        />
        <p>
          <a href={linkTo(["executions"], { jobId: job.jobId })}>{TEXTS.allExecutions}</a>
        </p>
      </section>
      <h2>{TEXTS.payload}</h2>
      <JsonView value={job.payload} label={TEXTS.payload} />
    </>
  );
}

function scheduleFields({ schedule, timezone }: JobBody): { schedule?: string; timezone?: string } {
  return { ...(schedule !== undefined && { schedule }), ...(timezone !== undefined && { timezone }) };
}

function Actions({ job: { jobId, state }, reload }: { job: JobBody; reload(): void }) {
  const order = (what: string) => () => ask(`jobs/${jobId}/${what}`, { method: "POST" });
  if (!may("jobs:write") || (state !== "ACTIVE" && state !== "PAUSED")) return null;
  const trigger = async () => {
    const made = await ask<{ executionId: string }>(`jobs/${jobId}/trigger`, { method: "POST" });
    location.hash = linkTo(["executions", made.executionId]);
  };
  return (
    <p class="row">
      {state === "ACTIVE" && (
        <SureButton label={TEXTS.pause} help={TEXTS.pauseSure} act={order("pause")} done={reload} />
      )}
      {state === "PAUSED" && (
        <SureButton label={TEXTS.resume} help={TEXTS.resumeSure} act={order("resume")} done={reload} />
      )}
      <SureButton label={TEXTS.runNow} help={TEXTS.runNowSure} act={trigger} />
    </p>
  );
}

function Facts({ job }: { job: JobBody }) {
  return (
    <dl class="figures facts">
      <Figure title={TEXTS.jobId}>{job.jobId}</Figure>
      <Figure title={TEXTS.handler}>
        <Name of={job.target.handler} />
      </Figure>
      <Figure title={TEXTS.pool}>
        <Name of={job.target.pool} />
      </Figure>
      <Figure title={TEXTS.schedule}>{scheduleText(job)}</Figure>
      <Figure title={TEXTS.nextFire}>
        <Time at={job.nextFireAt} />
      </Figure>
      <Figure title={TEXTS.version}>{job.version}</Figure>
      <Figure title={TEXTS.created}>
        <Time at={job.createdAt} />
      </Figure>
      {job.overlap !== undefined && <Figure title={TEXTS.overlap}>{job.overlap}</Figure>}
      {job.misfire !== undefined && <Figure title={TEXTS.misfire}>{job.misfire}</Figure>}
      <Labels of={job.labels} />
    </dl>
  );
}

function scheduleText({ schedule, timezone, everySec }: JobBody): string {
  if (schedule !== undefined) return visible(`${schedule} (${timezone ?? "UTC"})`);
  return everySec === undefined ? TEXTS.once : TEXTS.every(durationText(everySec * 1_000));
}

function Fires({ job: { jobId } }: { job: JobBody }) {
  const { data, failure } = useAnswer<NextFires>(`jobs/${jobId}/next-fires?count=10`);
  return (
    <section>
      <h2>{TEXTS.nextFires}</h2>
      <Failure of={failure} />
      <Words of={data?.words} />
      {data?.fires.length === 0 && <p class="dim">{TEXTS.nextFiresNone}</p>}
      <FireList of={data?.fires ?? []} />
    </section>
  );
}
