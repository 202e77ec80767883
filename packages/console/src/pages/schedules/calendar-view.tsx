import type { JobBody, LedgerItemBody } from "@mainspring/contract";
import { useEffect, useState } from "preact/hooks";
import type { NextFires } from "../../api/answers.ts";
import { RequestFailed } from "../../api/client.ts";
import { Failure, Loading } from "../../parts/failure.tsx";
import { now, zone } from "../../state/preferences.ts";
import { linkTo, route } from "../../state/route.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { countText } from "../../text/figures.ts";
import { absoluteText } from "../../text/times.ts";
import { visible } from "../../text/visible.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";
import { boundsOf, calendarOf, type Day, type Instant, isMonth, monthBeside, monthOf, outcomeOf } from "./calendar.ts";
import { LedgerTable } from "./ledger-table.tsx";
import { type ReadLedger, readLedger } from "./read-ledger.ts";

/** Planned fires that the calendar shows at most. */
const FIRES_MAX = 1_000;
/** Marks of one outcome in a day; more have their number alone. */
const CELLS_MAX = 12;

/** A month of a recurring job: the outcomes of past instants, the fires to come, and clock changes; below it the ledger. */
export function CalendarView({ job }: { job: JobBody }) {
  const fires = useAnswer<NextFires>(`jobs/${job.jobId}/next-fires?count=${FIRES_MAX}`);
  const asked = route.value.query["month"] ?? "";
  const first = fires.data?.fires[0]?.local ?? new Date(now.peek()).toISOString();
  const month = isMonth(asked) ? asked : monthOf(first);
  const past = useLedger(job.jobId, month);
  const planned = fires.data?.fires ?? [];
  const instants = [...pastInstants(past.data?.items ?? []), ...planned.map(plannedInstant)];
  return (
    <section>
      <h2>{SCHEDULE_TEXTS.calendar}</h2>
      <Failure of={fires.failure ?? past.failure} />
      <p class="dim">{SCHEDULE_TEXTS.calendarHelp(visible(job.timezone ?? "UTC"))}</p>
      <nav class="row" aria-label={SCHEDULE_TEXTS.calendar}>
        <a href={monthLink(monthBeside(month, -1))}>{SCHEDULE_TEXTS.earlierMonth}</a>
        <strong>{month}</strong>
        <a href={monthLink(monthBeside(month, 1))}>{SCHEDULE_TEXTS.laterMonth}</a>
      </nav>
      <Month month={month} weeks={calendarOf(month, instants, SCHEDULE_TEXTS.clocksChange)} />
      <Legend />
      {past.data?.isPart === true && <p class="dim">{SCHEDULE_TEXTS.partOnly(timeText(past.data.items.at(-1)?.at))}</p>}
      {planned.length === FIRES_MAX && <p class="dim">{SCHEDULE_TEXTS.plannedUntil(timeText(planned.at(-1)?.at))}</p>}
      {past.data === null && past.failure === null && <Loading />}
      {past.data !== null && <LedgerTable items={past.data.items} />}
    </section>
  );
}

function monthLink(month: string): string {
  const { path, query } = route.value;
  return linkTo(path, { ...query, month });
}

function timeText(at: string | undefined): string {
  return at === undefined ? "" : absoluteText(Date.parse(at), zone.value);
}

/** The ledger has the newest item first. */
function pastInstants(items: readonly LedgerItemBody[]): Instant[] {
  return items.toReversed().map((item) => ({ local: item.local, outcome: outcomeOf(item), count: item.count ?? 1 }));
}

function plannedInstant({ local, note }: NextFires["fires"][number]): Instant {
  return { local, outcome: "PLANNED", count: 1, ...(note !== undefined && { note }) };
}

/** The ledger of a month; empty for months to come. */
function useLedger(jobId: string, month: string) {
  const [held, setHeld] = useState<{ of: string; data: ReadLedger } | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  const of = `${jobId} ${month}`;
  useEffect(() => {
    let isGone = false;
    const read = async (): Promise<ReadLedger> => {
      const { since, until } = boundsOf(month);
      if (since >= Date.now()) return { items: [], isPart: false };
      const end = until >= Date.now() ? undefined : new Date(until).toISOString();
      return await readLedger(jobId, new Date(since).toISOString(), end);
    };
    const run = async () => {
      try {
        const data = await read();
        if (!isGone) setHeld({ of, data });
        if (!isGone) setFailure(null);
      } catch (error) {
        if (!isGone && error instanceof RequestFailed) setFailure(error);
      }
    };
    void run();
    return () => {
      isGone = true;
    };
  }, [of]);
  return { data: held?.of === of ? held.data : null, failure };
}

function Month({ month, weeks }: { month: string; weeks: readonly Day[][] }) {
  return (
    <div class="scroll" role="region" aria-label={`${SCHEDULE_TEXTS.calendar} ${month}`} tabIndex={0}>
      <table class="calendar">
        <thead>
          <tr>
            {SCHEDULE_TEXTS.weekdays.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week[0]?.date}>
              {week.map((day) => (
                <DayCell key={day.date} day={day} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DayCell({ day: { date, isInMonth, counts, marks } }: { day: Day }) {
  if (!isInMonth) return <td />;
  return (
    <td>
      <time dateTime={date}>{Number(date.slice(8))}</time>
      {[...counts].map(([outcome, count]) => {
        const text = SCHEDULE_TEXTS.countOf(countText(count), SCHEDULE_TEXTS.outcomes[outcome]);
        return (
          <div key={outcome} class="heat" title={text}>
            {Array.from({ length: Math.min(count, CELLS_MAX) }, (_, cell) => (
              <span key={cell} class={`cell cell-${outcome.toLowerCase()}`} />
            ))}
            <span class={count <= CELLS_MAX ? "unseen" : ""}>{text}</span>
          </div>
        );
      })}
      {marks.slice(0, 3).map((mark) => (
        <div key={mark} class="mark">
          {visible(mark)}
        </div>
      ))}
    </td>
  );
}

function Legend() {
  return (
    <p class="row">
      {Object.entries(SCHEDULE_TEXTS.outcomes).map(([outcome, text]) => (
        <span key={outcome}>
          <span class={`cell cell-${outcome.toLowerCase()}`} /> {text}
        </span>
      ))}
    </p>
  );
}
