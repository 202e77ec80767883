import { CronPattern } from "croner";

/** The last two that a field may have `?` for, as other schedulers want it: day of month, day of week. */
const DAY_FIELDS_FROM_END = [3, 1];

/** @param fields five, six, or one of the names as @daily. @returns null where they are no expression */
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
    // It says why, but neither where nor what would be right.
    return null;
  }
}

/** croner takes LW alone, and no list that has it: it is taken out of the list, and added to what the rest means. */
function withoutLastWeekday(fields: readonly string[]): [fields: readonly string[], hasLastWeekday: boolean] {
  const index = fields.length - (DAY_FIELDS_FROM_END[0] as number);
  const entries = fields.length < 5 ? [] : (fields[index] ?? "").split(",");
  const others = entries.filter((entry) => entry.toUpperCase() !== "LW");
  if (others.length === entries.length || others.includes("")) return [fields, false];
  // Without any other day, one LW stays.
  return [fields.with(index, others.length === 0 ? "LW" : others.join(",")), true];
}

/** A range that begins and ends with Sunday is one day, whichever of its names stand there; croner counts it to the next Sunday. */
function sundayRanges(field: string): string {
  return field.replace(/(^|,)(?:SUN|0)-SUN(?=[,/#L]|$)/gi, (_, before: string) => `${before}0-0`);
}

function isOpenDay(field: string, fromEnd: number): boolean {
  return field === "?" && DAY_FIELDS_FROM_END.includes(fromEnd);
}
