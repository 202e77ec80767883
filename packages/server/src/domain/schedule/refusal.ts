/** Reason why a schedule is refused, with a message that says how to correct it. */
export interface ScheduleRefusal {
  /** Field of the job's definition. */
  field: "schedule" | "timezone" | "everySec" | "startAt" | "endAt" | "maxFires" | "spreadSec";
  /** Part of a cron expression, such as `hour`; null: the whole expression. */
  part: string | null;
  /** Position of the first wrong character, counted from 1; null: no single character is wrong. */
  position: number | null;
  /** Message that also names part and position, so that it can be shown alone. */
  message: string;
}

export function refuse(field: ScheduleRefusal["field"], message: string): ScheduleRefusal {
  return { field, part: null, position: null, message };
}

/** @param position of a character in a text, counted from 1 */
export function refuseAt(
  field: "schedule" | "timezone",
  part: string | null,
  position: number,
  why: string,
): ScheduleRefusal {
  const place = part === null ? `character ${position}` : `${part}, character ${position}`;
  return { field, part, position, message: `${place}: ${why}` };
}
