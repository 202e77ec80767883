const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/** Whether an expression of five or six fields matches a minute of local time. The seconds are ignored. */
export function matchesWall(cron: string, wallMinute: number): boolean {
  const [minute = "", hour = "", date = "", month = "", weekday = ""] = cron.toUpperCase().split(" ").slice(-5);
  const time = new Date(wallMinute * 60_000);
  return (
    matchesNumber(minute, time.getUTCMinutes(), 0, 59) &&
    matchesNumber(hour, time.getUTCHours(), 0, 23) &&
    matchesNumber(withNumbers(month, MONTHS, 1), time.getUTCMonth() + 1, 1, 12) &&
    matchesDay(date, withNumbers(weekday, WEEKDAYS, 0), time)
  );
}

/** Seconds of a minute that an expression matches. */
export function secondsOf(cron: string): number[] {
  const fields = cron.split(" ");
  const second = fields.length === 6 ? (fields[0] as string) : "0";
  return Array.from({ length: 60 }, (_, value) => value).filter((value) => matchesNumber(second, value, 0, 59));
}

function matchesDay(date: string, weekday: string, time: Date): boolean {
  const byDate = date.split(",").some((entry) => matchesDate(entry, time));
  const byWeekday = weekday.split(",").some((entry) => matchesWeekday(entry, time));
  const open = (field: string) => field.startsWith("*") || field === "?";
  return open(date) || open(weekday) ? byDate && byWeekday : byDate || byWeekday;
}

function matchesDate(entry: string, time: Date): boolean {
  const date = time.getUTCDate();
  const last = lastDate(time);
  if (entry === "?") return true;
  if (entry === "L") return date === last;
  if (entry === "LW") return date === nearestWorkday(last, time);
  if (entry.endsWith("W"))
    return Number(entry.slice(0, -1)) <= last && date === nearestWorkday(Number(entry.slice(0, -1)), time);
  return matchesNumber(entry, date, 1, 31);
}

/** Date in the month that is a weekday (Monday to Friday) and closest to the wanted date. */
function nearestWorkday(wanted: number, time: Date): number {
  const dates = Array.from({ length: lastDate(time) }, (_, index) => index + 1);
  const workdays = dates.filter((date) => ![0, 6].includes(weekdayOf(date, time)));
  return workdays.sort((one, other) => Math.abs(one - wanted) - Math.abs(other - wanted))[0] as number;
}

function matchesWeekday(entry: string, time: Date): boolean {
  const [date, weekday] = [time.getUTCDate(), time.getUTCDay()];
  if (entry === "?") return true;
  if (entry.endsWith("L")) return isWeekday(entry.slice(0, -1), weekday) && date + 7 > lastDate(time);
  const [days = "", nth] = entry.split("#");
  if (nth !== undefined) return isWeekday(days, weekday) && Math.ceil(date / 7) === Number(nth);
  return isWeekday(entry, weekday);
}

/** Whether an entry matches a weekday. Sunday is both 0 and 7. */
function isWeekday(entry: string, weekday: number): boolean {
  return (
    matchesNumber(entry, weekday, 0, 6) ||
    (weekday === 0 && entry !== "*" && !entry.startsWith("*/") && matchesNumber(entry, 7, 0, 7))
  );
}

function matchesNumber(field: string, value: number, min: number, max: number): boolean {
  return field.split(",").some((entry) => {
    const [range = "", step = "1"] = entry.split("/");
    const [from = "", to = from] = range === "*" ? [String(min), String(max)] : range.split("-");
    const [first, last] = [Number(from), Number(to)];
    return value >= first && value <= last && (value - first) % Number(step) === 0;
  });
}

function withNumbers(field: string, names: readonly string[], first: number): string {
  // A range may end with Sunday, which is then the seventh day.
  const text = first === 0 ? field.replaceAll("-SUN", "-7") : field;
  return names.reduce((changed, name, index) => changed.replaceAll(name, String(index + first)), text);
}

function lastDate(time: Date): number {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 0)).getUTCDate();
}

function weekdayOf(date: number, time: Date): number {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), date)).getUTCDay();
}
