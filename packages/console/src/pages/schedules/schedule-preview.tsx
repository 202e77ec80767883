import type { JobBody, SchedulePreviewBody } from "@mainspring/contract";
import { useEffect, useState } from "preact/hooks";
import { ask, RequestFailed } from "../../api/client.ts";
import { Failure } from "../../parts/failure.tsx";
import { Time } from "../../parts/text.tsx";
import { visible } from "../../text/visible.ts";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";

/** Pause in the typing after which the server is asked, in milliseconds. */
const PAUSE_MS = 400;
const FIRES = 10;

interface SchedulePreviewProps {
  schedule: string;
  /** Empty: UTC. */
  timezone: string;
  dst?: JobBody["dst"];
}

/** A cron expression in words, and its next fires, as the server understands it. */
export function SchedulePreview({ schedule, timezone, dst }: SchedulePreviewProps) {
  const { data, failure } = usePreview(schedule.trim(), timezone.trim(), JSON.stringify(dst));
  return (
    <div aria-live="polite">
      <Failure of={failure} />
      {data !== null && <Answer of={data} />}
    </div>
  );
}

function Answer({ of: { words, fires, warnings = [] } }: { of: SchedulePreviewBody }) {
  return (
    <>
      <Words of={words} />
      <p>{fires.length === 0 ? SCHEDULE_TEXTS.neverFires : SCHEDULE_TEXTS.wouldFire}</p>
      <FireList of={fires} />
      {warnings.map((warning) => (
        <p key={warning}>{visible(warning)}</p>
      ))}
    </>
  );
}

/** A schedule in words. Servers of the release before have none. */
export function Words({ of }: { of: string | undefined }) {
  if (of === undefined) return null;
  return (
    <p>
      <strong class="words">{visible(of)}</strong>
    </p>
  );
}

/** Fires to come, with what a clock change does to them. */
export function FireList({ of }: { of: SchedulePreviewBody["fires"] }) {
  return (
    <ol>
      {of.map(({ at, local, note }) => (
        <li key={at}>
          <Time at={at} /> <span class="dim">{local}</span> {note !== undefined && visible(note)}
        </li>
      ))}
    </ol>
  );
}

/** @param dst JSON text of the treatment of clock changes; undefined: the default */
function usePreview(schedule: string, timezone: string, dst: string | undefined) {
  const [data, setData] = useState<SchedulePreviewBody | null>(null);
  const [failure, setFailure] = useState<RequestFailed | null>(null);
  useEffect(() => {
    if (schedule === "") return undefined;
    const stop = new AbortController();
    const run = async () => {
      const body = {
        ...{ schedule, count: FIRES },
        ...(timezone !== "" && { timezone }),
        ...(dst !== undefined && { dst: JSON.parse(dst) }),
      };
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
  }, [schedule, timezone, dst]);
  return { data, failure };
}
