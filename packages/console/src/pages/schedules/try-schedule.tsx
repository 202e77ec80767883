import { useState } from "preact/hooks";
import { SCHEDULE_TEXTS } from "../../texts/schedule-texts.ts";
import { SchedulePreview } from "./schedule-preview.tsx";

/** A cron expression in words, and its next fires, while it is typed. */
export function TrySchedule({ schedule = "", timezone = "UTC" }: { schedule?: string; timezone?: string }) {
  const [text, setText] = useState(schedule);
  const [zone, setZone] = useState(timezone);
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
      <SchedulePreview schedule={text} timezone={zone} />
    </details>
  );
}
