import type { PoolBody, SeriesBody, StatsBody } from "@mainspring/contract";
import { useEffect, useState } from "preact/hooks";
import type { DeadLetter, OverdueJobs, Page } from "../api/answers.ts";
import { Empty, Failure, Loading } from "../parts/failure.tsx";
import { Figure } from "../parts/figure.tsx";
import { lazily } from "../parts/lazily.tsx";
import { type Column, Table } from "../parts/list.tsx";
import { Name } from "../parts/text.tsx";
import { linkTo } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { groupedBy } from "../text/grouped.ts";
import { newestOf, totalOf } from "../text/series.ts";
import { durationText } from "../text/times.ts";
import { TEXTS } from "../texts.ts";
import { ClusterLag } from "./cluster-lag.tsx";
import { FailedHandlers } from "./failed-handlers.tsx";
import { FiringAlerts } from "./firing-alerts.tsx";

/** The charts and their library load beside the figures, and no other page loads them. */
const SeriesCharts = lazily(async () => (await import("./series-charts.tsx")).SeriesCharts);

const LIVE_MS = 3_000;
const SLOW_MS = 10_000;
/** Length of a point of the series, in milliseconds: there is nothing new before. */
const SERIES_MS = 10_000;
/** Count of a backlog that stands for more. */
const BACKLOG_MAX = 100_000;

/** The state of the whole system at a glance. */
export function OverviewPage() {
  const { data: stats, failure, reload } = useAnswer<StatsBody>("stats", LIVE_MS);
  const { series, isRefused, failure: seriesFailure } = useSeries();
  return (
    <>
      <Failure of={failure} retry={reload} />
      {stats === null && failure === null && <Loading />}
      {series !== null && <FiringAlerts alerts={series.alerts} />}
      {stats !== null && <Figures stats={stats} series={series} />}
      {failure === null && <Failure of={seriesFailure} />}
      {isRefused && <p class="dim">{TEXTS.seriesForbidden}</p>}
      {stats !== null && !isRefused && <SeriesCharts series={series} />}
      <div class="columns">
        <PoolLoad series={series} />
        {series === null ? <NewestDeadLetters /> : <FailedHandlers failures={series.failures} />}
        <Overdue />
      </div>
    </>
  );
}

/** The last hour of the servers' figures. A key that may not read it asks once. */
function useSeries() {
  const [isRefused, setRefused] = useState(false);
  const { data: series, failure } = useAnswer<SeriesBody>(isRefused ? null : "series", SERIES_MS);
  useEffect(() => {
    if (failure?.problem.status === 403) setRefused(true);
  }, [failure]);
  return { series: isRefused ? null : series, isRefused, failure: isRefused ? null : failure };
}

function Figures({ stats, series }: { stats: StatsBody; series: SeriesBody | null }) {
  const { executions, recurring, workers } = stats;
  const count = (value: number) => countText(value, executions.countedUpTo);
  const link = (text: string, ...place: Parameters<typeof linkTo>) => <a href={linkTo(...place)}>{text}</a>;
  return (
    <dl class="figures">
      <Figure title={TEXTS.waiting}>{count(executions.waiting)}</Figure>
      <Figure title={TEXTS.ready}>{count(executions.ready)}</Figure>
      {may("system:admin") && <ClusterLag />}
      <Figure title={TEXTS.running}>{link(count(executions.running), ["executions"], { state: "RUNNING" })}</Figure>
      <Figure title={TEXTS.deadLetters}>{link(count(executions.deadLetters), ["dead-letters"])}</Figure>
      {executions.openRuns !== null && <Figure title={TEXTS.openRuns}>{count(executions.openRuns)}</Figure>}
      <Figure title={TEXTS.connectedWorkers}>{link(countText(workers.connected), ["workers"])}</Figure>
      {series === null && <Figure title={TEXTS.lateRuns}>{countText(recurring.late)}</Figure>}
      {series !== null && <Figure title={TEXTS.lateOfHour}>{countText(totalOf(series.recurring.late))}</Figure>}
      <Figure title={TEXTS.missed}>
        {recurring.missed === null ? TEXTS.unknown : countText(recurring.missed, 1_000)}
      </Figure>
    </dl>
  );
}

/** @param series null: the caller may not read the backlogs */
function PoolLoad({ series }: { series: SeriesBody | null }) {
  const { data, failure } = useAnswer<Page<PoolBody>>("pools?limit=50", SLOW_MS);
  return (
    <section>
      <h2>{TEXTS.pools}</h2>
      <Failure of={failure} />
      {data?.items.length === 0 && <Empty title={TEXTS.quiet} help={TEXTS.quietHelp} />}
      {data !== null && data.items.length > 0 && (
        <Table
          caption={TEXTS.pools}
          rows={data.items}
          keyOf={({ name, owner }) => `${owner} ${name}`}
          columns={[
            { title: TEXTS.pool, cell: ({ name }) => <Name of={name} /> },
            { title: TEXTS.workers, cell: ({ workers }) => countText(workers) },
            {
              title: TEXTS.slots,
              cell: ({ running, slots }) => TEXTS.busySlots(countText(running), countText(slots)),
            },
            ...(series === null ? [] : backlogColumns(series)),
            { title: TEXTS.state, cell: ({ paused }) => (paused ? TEXTS.paused : "") },
          ]}
        />
      )}
    </section>
  );
}

/** Present backlog of each pool, and the age of its oldest execution. */
function backlogColumns({ pools }: SeriesBody): Column<PoolBody>[] {
  const of = ({ name, owner }: PoolBody) => pools.find((one) => one.pool === name && one.owner === owner);
  return [
    { title: TEXTS.backlogNow, cell: (pool) => countText(newestOf(of(pool)?.ready ?? []) ?? 0, BACKLOG_MAX) },
    {
      title: TEXTS.oldest,
      cell: (pool) => {
        const oldestSec = newestOf(of(pool)?.oldestSec ?? []) ?? 0;
        return oldestSec === 0 ? "–" : durationText(oldestSec * 1_000);
      },
    },
  ];
}

function NewestDeadLetters() {
  const { data, failure } = useAnswer<Page<DeadLetter>>("dead-letters?limit=200", SLOW_MS);
  const groups = groupedBy(data?.items ?? [], ({ pool, handler }) => `${pool} ${handler}`);
  return (
    <section>
      <h2>{TEXTS.failures}</h2>
      <Failure of={failure} />
      {data?.items.length === 0 && <p class="dim">{TEXTS.failuresNone}</p>}
      {groups.length > 0 && (
        <Table
          caption={TEXTS.failures}
          rows={groups.slice(0, 20)}
          keyOf={({ name }) => name}
          columns={[
            {
              title: TEXTS.handler,
              cell: ({ first: { handler, pool } }) => (
                <a href={linkTo(["dead-letters"], { handler, pool })}>
                  <Name of={handler} />
                </a>
              ),
            },
            { title: TEXTS.pool, cell: ({ first }) => <Name of={first.pool} /> },
            { title: TEXTS.count, cell: ({ members }) => countText(members.length, 200) },
          ]}
        />
      )}
    </section>
  );
}

function Overdue() {
  const { data, failure } = useAnswer<OverdueJobs>("overdue-jobs", SLOW_MS);
  return (
    <section>
      <h2>{TEXTS.overdue}</h2>
      <Failure of={failure} />
      {data?.items.length === 0 && <p class="dim">{TEXTS.overdueNone}</p>}
      <ul>
        {data?.items.slice(0, 20).map(({ jobId, name, overdueMs }) => (
          <li key={jobId}>
            <a href={linkTo(["jobs", jobId])}>
              <Name of={name ?? jobId} />
            </a>{" "}
            {TEXTS.overdueBy(durationText(overdueMs))}
          </li>
        ))}
      </ul>
    </section>
  );
}
