import { CronPattern } from "croner";

/** The last two that a field may have `?` for, as other schedulers want it: day of month, day of week. */
const DAY_FIELDS_FROM_END = [3, 1];

/** @param fields five, six, or one of the names as @daily. @returns null where they are no expression */
export function patternOf(fields: readonly string[]): CronPattern | null {
  const stray = fields.some((field, index) => field.includes("?") && !isOpenDay(field, fields.length - index));
  if (stray) return null;
  try {
    return new CronPattern(fields.join(" "), undefined, { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
  } catch {
    // It says why, but neither where nor what would be right.
    return null;
  }
}

function isOpenDay(field: string, fromEnd: number): boolean {
  return field === "?" && DAY_FIELDS_FROM_END.includes(fromEnd);
}
