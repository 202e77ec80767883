import type { CronPattern } from "croner";
import { hasDates } from "../month-days.ts";
import { refuseAt, type ScheduleRefusal } from "../refusal.ts";
import { type CronField, faultIn } from "./cron-fault.ts";
import { patternOf } from "./cron-pattern.ts";
import { type CronPlan, planOf } from "./cron-plan.ts";

/** Longest cron expression in characters. */
const CRON_LENGTH_MAX = 256;

const SHAPE = "five fields (minute, hour, day of month, month, day of week), or six with the second before them";
const NICKNAMES = "@yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly";
const NO_DATE = "never fires, as none of these months has such a day; the last of each month is L";
/**
 * Number of cached expressions. Many jobs have the same expression, and reading one costs more than stepping through
 * it.
 */
const KNOWN_MAX = 10_000;
const known = new Map<string, CronPlan>();

// Reading the first faulty expression takes some milliseconds, until the platform has compiled the reader. The module
// reads one when it is loaded, so that no request pays for it.
parse(`${"1,".repeat(120)}99 * * * *`);

/** Reads a cron expression. Good expressions are cached, so that the next read costs nothing. */
export function readCron(text: string): CronPlan | ScheduleRefusal {
  const plan = known.get(text) ?? parse(text);
  if ("message" in plan) return plan;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(text, plan);
  return plan;
}

function parse(text: string): CronPlan | ScheduleRefusal {
  const refusal = badCharacter(text);
  if (refusal !== null) return refusal;
  const fields = fieldsOf(text);
  const pattern = patternOf(fields.map((field) => field.text));
  if (pattern === null) return fault(text, fields);
  const plan = planIn(pattern);
  return hasDates(plan) ? plan : refuseAt("schedule", "day of month", fields.at(-3)?.position ?? 1, NO_DATE);
}

/** @param pattern the expression; for a name such as @daily, the expression that it stands for */
function planIn(pattern: CronPattern): CronPlan {
  const fields = fieldsOf(pattern.pattern).map(({ text }) => text);
  return planOf(pattern, fields.slice(-5));
}

function badCharacter(text: string): ScheduleRefusal | null {
  if (text.length > CRON_LENGTH_MAX) {
    return refuseAt("schedule", null, CRON_LENGTH_MAX + 1, `is too long: ${CRON_LENGTH_MAX} characters at most`);
  }
  const found = /[^A-Za-z0-9*?/,#@ \t-]/u.exec(text);
  if (found === null) return null;
  const allowed = "an expression is made of letters, digits, spaces and * ? / , - #";
  return refuseAt("schedule", null, found.index + 1, `${JSON.stringify(found[0])} means nothing here: ${allowed}`);
}

function fieldsOf(text: string): CronField[] {
  return [...text.matchAll(/[^ \t]+/g)].map((match) => ({ text: match[0], position: match.index + 1 }));
}

function fault(text: string, fields: readonly CronField[]): ScheduleRefusal {
  const [first, second, seventh] = [fields[0], fields[1], fields[6]];
  if (first !== undefined && /^@every$/i.test(first.text)) {
    const instead = "leave out schedule, and give everySec, the seconds between two fires";
    return refuseAt("schedule", null, first.position, `@every is an interval and no time on the clock: ${instead}`);
  }
  if (first?.text.startsWith("@")) {
    const { position } = second ?? first;
    return refuseAt("schedule", null, position, `must be ${NICKNAMES} and nothing else, or ${SHAPE}`);
  }
  if (fields.length === 5 || fields.length === 6) return faultIn(fields);
  const position = seventh?.position ?? text.trimEnd().length + 1;
  return refuseAt(
    "schedule",
    null,
    position,
    `the number of fields is ${fields.length}: give ${SHAPE}, or ${NICKNAMES}`,
  );
}
