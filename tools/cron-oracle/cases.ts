/** One schedule, and the moment after which its fires are requested. */
export interface Case {
  cron: string;
  timezone: string;
  /** The moment in ISO 8601, UTC, whole seconds. */
  after: string;
}

/** Number of fires that are requested in each case. */
export const FIRES = 3;

const DAY_MS = 86_400_000;
const FROM_MS = Date.UTC(2024, 0, 1);
const UNTIL_MS = Date.UTC(2037, 0, 1);
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/**
 * Random cases in the syntax that all three implementations share; half of them begin within a day of a clock change.
 */
export function randomCases(seed: number, count: number): Case[] {
  const draw = new Draw(seed);
  const zones = Intl.supportedValuesOf("timeZone");
  return Array.from({ length: count }, () => {
    const timezone = draw.pick(zones);
    const at = FROM_MS + Math.floor(draw.roll() * (UNTIL_MS - FROM_MS));
    const nearMs = draw.roll() < 0.5 ? changeAfter(timezone, at) : null;
    const afterMs = nearMs === null ? at : nearMs - Math.floor(draw.roll() * DAY_MS);
    const after = new Date(afterMs - (afterMs % 1_000)).toISOString();
    return { cron: expression(draw), timezone, after };
  });
}

function expression(draw: Draw): string {
  const time = draw.roll();
  const minute = time < 0.7 ? list(draw, 0, 59) : entry(draw, 0, 59);
  const hour = time < 0.4 ? draw.pick(["0", "1", "2", "3", "1,2", "0-3", "23"]) : entry(draw, 0, 23);
  const date = draw.pick(["*", "*", "*", "L", "1", "15", "31", "1-7", "10,20", "*/2"]);
  const month = draw.pick([
    "*",
    "*",
    "*",
    "3,10",
    "4-11",
    draw.pick(MONTHS),
    `${draw.pick(MONTHS.slice(0, 11)).toLowerCase()},DEC`,
  ]);
  const weekday = draw.pick(["*", "*", "*", "1-5", "MON-FRI", draw.pick(WEEKDAYS), "7", "0", "5L", "2#2", "sat,SUN"]);
  const second = draw.roll() < 0.1 ? `${list(draw, 0, 59)} ` : "";
  return `${second}${[minute, hour, date, month, weekday].join(" ")}`;
}

function entry(draw: Draw, min: number, max: number): string {
  const kind = draw.roll();
  if (kind < 0.25) return "*";
  if (kind < 0.45) return `*/${draw.between(1, max)}`;
  if (kind < 0.6) {
    const from = draw.between(min, max);
    const range = `${from}-${draw.between(from, max)}`;
    return draw.roll() < 0.5 ? range : `${range}/${draw.between(1, 9)}`;
  }
  return list(draw, min, max);
}

function list(draw: Draw, min: number, max: number): string {
  return [...new Set(Array.from({ length: draw.between(1, 3) }, () => draw.between(min, max)))].join(",");
}

/** The first clock change within a year, to the hour; null: there is none. */
function changeAfter(timezone: string, at: number): number | null {
  const offset = offsetIn(timezone);
  for (let day = at; day < at + 366 * DAY_MS; day += DAY_MS) {
    if (offset(day) !== offset(day + DAY_MS)) return day + DAY_MS;
  }
  return null;
}

/** Offset of a zone by the platform's data, in minutes. */
export function offsetIn(timezone: string): (at: number) => number {
  const fields = ["year", "month", "day", "hour", "minute", "second"].map((name) => [name, "numeric"]);
  const format = new Intl.DateTimeFormat("en-US", {
    ...Object.fromEntries(fields),
    timeZone: timezone,
    hourCycle: "h23",
  });
  return (at) => {
    const parts = format.formatToParts(at).map(({ type, value }) => [type, Number(value)]);
    const { year, month, day, hour, minute, second } = Object.fromEntries(parts) as Record<string, number>;
    const wall = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
    return (wall - (at - (at % 1_000))) / 60_000;
  };
}

/** Seeded randomness (mulberry32). */
class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  }

  /** Random whole number, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.roll() * (max - min + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.roll() * items.length)] as T;
  }
}
