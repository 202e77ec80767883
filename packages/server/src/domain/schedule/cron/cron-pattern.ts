import { CronPattern } from "croner";

/** Positions from the end of the fields that may be `?`, as other schedulers write it: day of month and day of week. */
const DAY_FIELDS_FROM_END = [3, 1];

/**
 * Reads an expression with croner.
 * @param fields five or six fields, or one name such as @daily
 * @returns null: the fields are not an expression
 */
export function patternOf(fields: readonly string[]): CronPattern | null {
  const [rest, hasLastWeekday] = withoutLastWeekday(fields);
  const stray = fields.some((field, index) => field.includes("?") && !isOpenDay(field, fields.length - index));
  if (stray) return null;
  try {
    const text = rest.map((field, index) => (index === rest.length - 1 ? sundayRanges(field) : field)).join(" ");
    const pattern = new CronPattern(text, undefined, { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" });
    pattern.lastWeekday ||= hasLastWeekday;
    return pattern;
  } catch {
    // croner's message names the reason, but neither the place nor the correction.
    return null;
  }
}

/**
 * Removes LW from a list of days of the month. croner accepts LW alone and not in a list, so the caller adds it to the
 * meaning of the other days.
 */
function withoutLastWeekday(fields: readonly string[]): [fields: readonly string[], hasLastWeekday: boolean] {
  const index = fields.length - (DAY_FIELDS_FROM_END[0] as number);
  const entries = fields.length < 5 ? [] : (fields[index] ?? "").split(",");
  const others = entries.filter((entry) => entry.toUpperCase() !== "LW");
  if (others.length === entries.length || others.includes("")) return [fields, false];
  // If the list has no other day, one LW stays.
  return [fields.with(index, others.length === 0 ? "LW" : others.join(",")), true];
}

/**
 * Corrects ranges from Sunday to Sunday, which are one day whatever its names, and which croner counts up to the next
 * Sunday.
 */
function sundayRanges(field: string): string {
  return field.replace(/(^|,)(?:SUN|0)-SUN(?=[,/#L]|$)/gi, (_, before: string) => `${before}0-0`);
}

function isOpenDay(field: string, fromEnd: number): boolean {
  return field === "?" && DAY_FIELDS_FROM_END.includes(fromEnd);
}
