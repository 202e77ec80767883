const MONTHS = "January February March April May June July August September October November December".split(" ");
const WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ");
const OCCURRENCES = ["first", "second", "third", "fourth", "fifth", "last"];
const UNITS = { second: 1, minute: 60, hour: 3_600 } as const;

/**
 * Reads the words of a cron schedule as a person does, so that tests can compare their meaning with that of the expression.
 * @param words a sentence that ends with `in Etc/UTC`
 * @returns whether the words mean a local time, given in seconds
 */
export function readWords(words: string): (wallSec: number) => boolean {
  const { times, days, months } = partsOf(withNumbers(words));
  return (wallSec) => {
    const date = new Date(wallSec * 1_000);
    return isTime(times, wallSec % 86_400) && isDay(days, date) && isMonth(months, date);
  };
}

function partsOf(words: string) {
  const match = /^(.*?)(?: (every day|on .*?))??(?:, (?:only )?in ([\d ,…adnot]+),)? in Etc\/UTC$/.exec(words);
  if (match === null) throw new Error(`cannot read ${words}`);
  const [, times = "", days = "every day", months = null] = match;
  return { times, days, months };
}

function withNumbers(words: string): string {
  const months = MONTHS.reduce((text, month, index) => text.replaceAll(month, String(index + 1)), words);
  const days = WEEKDAYS.reduce((text, day, index) => text.replaceAll(day, String(index + 1)), months);
  return days.replace(/\bweekdays\b/, "1 to 5");
}

/** Numbers of a list such as `1 to 5, 7 and 9` or `0, 7, 14, …, 56`. */
function listed(list: string): number[] {
  const parts = list.split(/, | and /).filter((part) => part !== "");
  if (parts.includes("…")) {
    const [first = 0, second = 0] = parts.map(Number);
    const count = (Number(parts.at(-1)) - first) / (second - first);
    return Array.from({ length: count + 1 }, (_, index) => first + index * (second - first));
  }
  return parts.flatMap((part) => {
    const [from = 0, to = from] = part.split(" to ").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

function clock(text: string): number {
  const [hour = 0, minute = 0, second = 0] = text.split(":").map(Number);
  return hour * 3_600 + minute * 60 + second;
}

function isTime(text: string, sec: number): boolean {
  const steady = /^every (?:(\d+) )?(second|minute|hour)s?(?: from (\S+) to (\S+))?$/.exec(text);
  if (steady !== null) {
    const [, count = "1", unit = "second", from = "00:00", to = "23:59:59"] = steady;
    const step = Number(count) * UNITS[unit as keyof typeof UNITS];
    return sec >= clock(from) && sec <= clock(to) && (sec - clock(from)) % step === 0;
  }
  if (/^at \d/.test(text)) {
    const times = text.slice(3).split(/, | and /);
    return times.some((time) => clock(time) === sec);
  }
  const fields = text.replace(/^at /, "").split(" of ");
  const values = { second: sec % 60, minute: Math.floor(sec / 60) % 60, hour: Math.floor(sec / 3_600) };
  const isNamed = fields.some((field) => field.includes("second"));
  if (!isNamed && values.second !== 0) return false;
  return fields.every((field) => {
    const [, every, unit = "second", list = ""] = /^(every )?(second|minute|hour)s? ?(.*)$/.exec(field) ?? [];
    return every !== undefined || listed(list).includes(values[unit as keyof typeof values]);
  });
}

function isMonth(list: string | null, date: Date): boolean {
  return list === null || listed(list).includes(date.getUTCMonth() + 1);
}

function isDay(text: string, date: Date): boolean {
  if (text === "every day") return true;
  const [, whole = text, joint, other] =
    /^(.*) of the month(?: and (also) |,? but (?:only) )(on .*|.*)$/.exec(text) ?? [];
  if (joint === "also") return isOne(`${whole} of the month`, date) || isOne(other as string, date);
  const [first = "", second] = text.split(", but only ");
  return second === undefined ? isOne(first, date) : isOne(first, date) && isOne(second, date);
}

/** Whether a date is one of `on days 1 to 5 and the last day of the month`, or of `on 1 and the last 5 of the month`. */
function isOne(text: string, date: Date): boolean {
  const [, list = "", month = "the month"] = /^on (.*?)(?: of (the month|[\d ,…adnot]+))?$/.exec(text) ?? [];
  if (month !== "the month" && !isMonth(month, date)) return false;
  return /day/.test(list) ? isDate(list, date) : isWeekday(list, date);
}

const lastOf = (date: Date) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
const weekdayOf = (date: Date, day: number) =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day)).getUTCDay();

function isDate(list: string, date: Date): boolean {
  const [day, last] = [date.getUTCDate(), lastOf(date)];
  const isWorkday = (one: number) => ![0, 6].includes(weekdayOf(date, one));
  const nearest = (wanted: number) => {
    const workdays = Array.from({ length: last }, (_, index) => index + 1).filter(isWorkday);
    return workdays.sort((one, other) => Math.abs(one - wanted) - Math.abs(other - wanted))[0];
  };
  const near = [...list.matchAll(/the weekday nearest to day (\d+)/g)].map(([, wanted]) => Number(wanted));
  if (near.some((wanted) => wanted <= last && nearest(wanted) === day)) return true;
  if (list.includes("the last weekday") && nearest(last) === day) return true;
  if (list.includes("the last day") && day === last) return true;
  const numbers = /^days? (.*?)(?:(?:,| and) the .*)?$/.exec(list)?.[1] ?? "";
  return listed(numbers).includes(day);
}

function isWeekday(list: string, date: Date): boolean {
  const [day, last, weekday] = [date.getUTCDate(), lastOf(date), date.getUTCDay() || 7];
  for (const [, occurrences = "", wanted] of list.matchAll(/the ([a-z, ]+?) (\d)/g)) {
    const isThis = OCCURRENCES.some((occurrence, place) => {
      if (!occurrences.includes(occurrence)) return false;
      return place === 5 ? day + 7 > last : Math.ceil(day / 7) === place + 1;
    });
    if (Number(wanted) === weekday && isThis) return true;
  }
  const plain = list.replace(/(?:, | and )?the .*$/, "");
  return listed(plain).includes(weekday);
}
