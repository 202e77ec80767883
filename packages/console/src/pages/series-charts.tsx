import type { SeriesBody } from "@mainspring/contract";
import { Chart, LINES_MAX, type Line } from "../parts/chart.tsx";
import { Name } from "../parts/text.tsx";
import { zone } from "../state/preferences.ts";
import { countText, rateText } from "../text/figures.ts";
import {
  type Gap,
  gapsOf,
  newestOf,
  ratesOf,
  shownFromSec,
  sumOf,
  timesOf,
  totalOf,
  type Values,
  whole,
} from "../text/series.ts";
import { clockText, durationText } from "../text/times.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

/** Gaps that are told in words, the newest of them. */
const GAPS_SHOWN = 4;

/** The last hour of the servers' figures. @param series null: they are not known yet */
export function SeriesCharts({ series }: { series: SeriesBody | null }) {
  return series === null ? null : <Charts series={series} />;
}

function Charts({ series }: { series: SeriesBody }) {
  const gaps = gapsOf(series);
  const rates = (counts: Values) => ratesOf(series, counts);
  const plot = { times: timesOf(series), fromSec: shownFromSec(series), gaps };
  const finished = rates(sumOf(series.finished.map(({ counts }) => counts)));
  const failed = sumOf(series.failures.map(({ counts }) => counts));
  return (
    <>
      <div class="columns">
        <Plot {...plot} title={TEXTS.throughput} now={`${TEXTS.finishedPerSec}: ${rateNow(finished)}`}>
          {[
            { label: TEXTS.finishedPerSec, values: finished },
            { label: TEXTS.retriedPerSec, values: rates(series.retried) },
          ]}
        </Plot>
        <Plot {...plot} title={TEXTS.lateness} now={latenessNow(series)}>
          {[
            { label: TEXTS.median, values: whole(series, series.p50Ms) },
            { label: TEXTS.p99, values: whole(series, series.p99Ms) },
          ]}
        </Plot>
        <Plot {...plot} title={TEXTS.backlog} now={TEXTS.backlogHelp}>
          {backlogOf(series)}
        </Plot>
        <Plot {...plot} title={TEXTS.failuresPerSec} now={failuresNow(series, failed)}>
          {[
            { label: TEXTS.failedAttempts, values: rates(failed) },
            { label: TEXTS.deadLetters, values: rates(series.deadLetters) },
          ]}
        </Plot>
        <Plot {...plot} title={TEXTS.slots} now={slotsNow(series)}>
          {[
            { label: TEXTS.slots, values: whole(series, series.slots) },
            { label: TEXTS.running, values: whole(series, series.running) },
          ]}
        </Plot>
        <Plot {...plot} title={TEXTS.loopLag} now={TEXTS.loopLagHelp}>
          {[{ label: TEXTS.loopLag, values: series.loopLagMs }]}
        </Plot>
      </div>
      <Gaps gaps={gaps} silent={series.silent} />
    </>
  );
}

interface PlotProps {
  title: string;
  now: string;
  times: number[];
  fromSec: number;
  gaps: readonly Gap[];
  children: Line[];
}

function Plot({ title, now, times, fromSec, gaps, children: lines }: PlotProps) {
  const shades = gaps.map(({ fromMs, untilMs }) => ({ fromSec: fromMs / 1_000, untilSec: untilMs / 1_000 }));
  return (
    <section>
      <h2>{title}</h2>
      <p>{now}</p>
      <Chart text={`${title}: ${now}`} times={times} fromSec={fromSec} lines={lines} gaps={shades} />
    </section>
  );
}

/** The gaps of the hour, in words. */
function Gaps({ gaps, silent }: { gaps: readonly Gap[]; silent: SeriesBody["silent"] }) {
  const clock = (ms: number) => clockText(ms, zone.value);
  const textOf = ({ kind, fromMs, untilMs, missing }: Gap) =>
    kind === "NOBODY"
      ? TEXTS.gapNobody(clock(fromMs), clock(untilMs))
      : TEXTS.gapSome(clock(fromMs), clock(untilMs), missing);
  return (
    <div class="dim">
      <p>{TEXTS.lastHour}</p>
      <ul>
        {gaps.slice(-GAPS_SHOWN).map((gap) => (
          <li key={gap.fromMs}>{textOf(gap)}</li>
        ))}
        {silent.slice(0, 20).map(({ nodeId, address, reason }) => (
          <li key={nodeId}>
            <Name of={address} /> {TEXTS.silences[reason]}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The pools with the largest backlogs of the hour. */
function backlogOf(series: SeriesBody): Line[] {
  const peak = (values: Values) => values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const largest = series.pools.filter(({ ready }) => peak(ready) > 0).sort((a, b) => peak(b.ready) - peak(a.ready));
  if (largest.length === 0)
    return [{ label: TEXTS.backlogNow, values: series.nodes.map((told) => (told > 0 ? 0 : null)) }];
  return largest.slice(0, LINES_MAX).map(({ pool, owner, ready }) => {
    return { label: visible(owner === null ? pool : `${owner}/${pool}`), values: ready };
  });
}

function rateNow(rates: Values): string {
  const rate = rates.at(-1) ?? null;
  return rate === null ? TEXTS.unknown : rateText(rate);
}

function latenessNow({ p50Ms, p99Ms }: SeriesBody): string {
  const [p50, p99] = [newestOf(p50Ms.slice(-12)), newestOf(p99Ms.slice(-12))];
  if (p50 === null || p99 === null) return TEXTS.noStarts;
  return `${TEXTS.median} ${durationText(p50)}, ${TEXTS.p99} ${durationText(p99)}`;
}

function failuresNow(series: SeriesBody, failed: Values): string {
  return TEXTS.failuresOfHour(countText(totalOf(failed)), countText(totalOf(series.deadLetters)));
}

function slotsNow({ slots, running, workers }: SeriesBody): string {
  const now = (values: Values) => countText(newestOf(values) ?? 0);
  return TEXTS.workersNow(now(workers), TEXTS.busySlots(now(running), now(slots)));
}
