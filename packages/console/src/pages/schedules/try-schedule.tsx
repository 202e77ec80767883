import type { SchedulePreviewBody } from "@mainspring/contract";
import { useEffect, useState } from "preact/hooks";
import { ask, RequestFailed } from "../../api/client.ts";
import { Failure } from "../../parts/failure.tsx";
import { Time } from "../../parts/text.tsx";
import { visible } from "../../text/visible.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";

/** Pause in the typing after which the server is asked, in milliseconds. */
const PAUSE_MS = 400;
const FIRES = 10;

/** A cron expression in words, and its next fires, while it is typed. */
export function TrySchedule({ schedule = "", timezone = "UTC" }: { schedule?: string; timezone?: string }) {
  const [text, setText] = useState(schedule);
  const [zone, setZone] = useState(timezone);
  const { data, failure } = usePreview(text.trim(), zone.trim());
  return (
    <details class="form">
      <summary>{SCHEDULE_TEXTS.trySchedule}</summary>
      <p class="dim">{SCHEDULE_TEXTS.tryHelp}</p>
      <div class="filters">
        <label>
          <span>{SCHEDULE_TEXTS.expression}</span>
          <input value={text} maxLength={255} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <label>
          <span>{SCHEDULE_TEXTS.zone}</span>
          <input value={zone} maxLength={255} onInput={(event) => setZone(event.currentTarget.value)} />
        </label>
      </div>
      <div aria-live="polite">
        <Failure of={failure} />
        {data !== null && <Preview of={data} />}
      </div>
    </details>
  );
}

function Preview({ of: { words, fires, warnings = [] } }: { of: SchedulePreviewBody }) {
  return (
    <>
      <p>
        <strong>{visible(words)}</strong>
      </p>
      <p>{fires.length === 0 ? SCHEDULE_TEXTS.neverFires : SCHEDULE_TEXTS.wouldFire}</p>
      <ol>
        {fires.map(({ at, local, note }) => (
          <li key={at}>
            <Time at={at} /> <span class="dim">{local}</span> {note !== undefined && visible(note)}
          </li>
        ))}
      </ol>
      {warnings.map((warning) => (
        <p key={warning}>{visible(warning)}</p>
      ))}
    </>
  );
}

function usePreview(schedule: string, timezone: string) {
  const [data, setData] = useState<SchedulePreviewBody | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  useEffect(() => {
    if (schedule === "") return undefined;
    const stop = new AbortController();
    const run = async () => {
      const body = { schedule, count: FIRES, ...(timezone !== "" && { timezone }) };
      try {
        setData(await ask<SchedulePreviewBody>("schedules/preview", { method: "POST", body, signal: stop.signal }));
        setFailure(null);
      } catch (error) {
        if (stop.signal.aborted || !(error instanceof RequestFailed)) return;
        setData(null);
        setFailure(error);
      }
    };
    const timer = setTimeout(() => void run(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [schedule, timezone]);
  return { data, failure };
}
