import type { PoolBody, StatsBody } from "@mainspring/contract";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { DeadLetter, OverdueJobs, Page } from "../api/answers.ts";
import { Chart } from "../parts/chart.tsx";
import { Empty, Failure, Loading } from "../parts/failure.tsx";
import { Table } from "../parts/list.tsx";
import { Name } from "../parts/text.tsx";
import { history, remember, SAMPLE_MS } from "../state/history.ts";
import { linkTo } from "../state/route.ts";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText, rateText } from "../text/figures.ts";
import { groupedBy } from "../text/grouped.ts";
import { durationText } from "../text/times.ts";
import { TEXTS } from "../texts.ts";
import { ClusterLag } from "./cluster-lag.tsx";

const SLOW_MS = 5_000;

/** The state of the whole system at a glance. */
export function OverviewPage() {
  const { data: stats, failure, reload } = useAnswer<StatsBody>("stats", SAMPLE_MS);
  useEffect(() => {
    if (stats !== null) remember(stats, Date.now());
  }, [stats]);
  return (
    <>
      <Failure of={failure} retry={reload} />
      {stats === null && failure === null && <Loading />}
      {stats !== null && <Figures stats={stats} />}
      {stats !== null && <Charts stats={stats} />}
      <div class="columns">
        <PoolLoad />
        <FailuresByHandler />
        <Overdue />
      </div>
    </>
  );
}

export function Figure({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Figures({ stats }: { stats: StatsBody }) {
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
      <Figure title={TEXTS.lateRuns}>{countText(recurring.late)}</Figure>
      <Figure title={TEXTS.missed}>
        {recurring.missed === null ? TEXTS.unknown : countText(recurring.missed, 1_000)}
      </Figure>
    </dl>
  );
}

function Charts({ stats }: { stats: StatsBody }) {
  const { times, perSec, p50, p99 } = history();
  const { p50Ms, p99Ms } = stats.lateness;
  const rate = perSec.at(-1) ?? null;
  const rateNow = rate === null ? "" : rateText(rate);
  const lateNow =
    p50Ms === null
      ? TEXTS.noStarts
      : `${TEXTS.median} ${durationText(p50Ms)}, ${TEXTS.p99} ${durationText(p99Ms ?? p50Ms)}`;
  return (
    <>
      <div class="columns">
        <section>
          <h2>{TEXTS.throughput}</h2>
          <p>
            {TEXTS.finishedPerSec}: {rateNow}
          </p>
          <Chart
            text={`${TEXTS.finishedPerSec}: ${rateNow}`}
            times={times}
            lines={[{ label: TEXTS.finishedPerSec, colour: "--chart-1", values: perSec }]}
          />
        </section>
        <section>
          <h2>{TEXTS.lateness}</h2>
          <p>{lateNow}</p>
          <Chart
            text={`${TEXTS.lateness}: ${lateNow}`}
            times={times}
            lines={[
              { label: TEXTS.median, colour: "--chart-1", values: p50 },
              { label: TEXTS.p99, colour: "--chart-2", values: p99 },
            ]}
          />
        </section>
      </div>
      <p class="dim">{TEXTS.sinceOpened}</p>
    </>
  );
}

function PoolLoad() {
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
            { title: TEXTS.state, cell: ({ paused }) => (paused ? TEXTS.paused : "") },
          ]}
        />
      )}
    </section>
  );
}

function FailuresByHandler() {
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
