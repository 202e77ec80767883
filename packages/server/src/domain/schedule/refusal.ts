/** Why a schedule is not taken, in words that say what would be right. */
export interface ScheduleRefusal {
  /** Field of the job's definition. */
  field: "schedule" | "timezone" | "everySec" | "startAt" | "endAt" | "maxFires" | "spreadSec";
  /** The part of a cron expression, as `hour`; null where the whole is meant. */
  part: string | null;
  /** Position of the first wrong character, counted from 1; null where no character is to blame. */
  position: number | null;
  /** Names part and position too, so that it can be shown alone. */
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
