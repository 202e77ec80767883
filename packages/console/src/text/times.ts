const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Start of the year 10000, whose ISO text has another form. */
const FIVE_DIGIT_YEARS_MS = Date.UTC(10_000, 0);

/** Units from the largest on, each with the length from which on it is used. */
const UNITS = [
  { unit: "d", ms: DAY_MS },
  { unit: "h", ms: HOUR_MS },
  { unit: "min", ms: MINUTE_MS },
  { unit: "s", ms: SECOND_MS },
] as const;

/** A duration with its two largest units, as `3 h 5 min`, `12.5 s` or `80 ms`. */
export function durationText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${Number((ms / SECOND_MS).toFixed(1))} s`;
  const largest = UNITS.findIndex((one) => ms >= one.ms);
  const first = UNITS[largest] ?? UNITS[3];
  const second = UNITS[largest + 1];
  const whole = Math.floor(ms / first.ms);
  const rest = second === undefined ? 0 : Math.floor((ms % first.ms) / second.ms);
  return rest === 0 ? `${whole} ${first.unit}` : `${whole} ${first.unit} ${rest} ${second?.unit}`;
}

/** Time from one instant to another, as `in 5 s` or `3 min ago`. */
export function relativeText(atMs: number, nowMs: number): string {
  const span = Math.abs(atMs - nowMs);
  if (span < SECOND_MS) return "now";
  const { unit, ms } = UNITS.find((one) => span >= one.ms) ?? UNITS[3];
  const text = `${Math.floor(span / ms)} ${unit}`;
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

/** An instant on the clocks of a time zone, as `2026-03-09 14:05:09.123 UTC`. @param zone name of the IANA database */
export function absoluteText(atMs: number, zone: string): string {
  // The first use of Intl would hold up the first view for tens of milliseconds, and a list has hundreds of instants.
  if (zone === "UTC" && atMs >= 0 && atMs < FIVE_DIGIT_YEARS_MS)
    return `${new Date(atMs).toISOString().replace("T", " ").slice(0, -1)} UTC`;
  const parts = new Map(
    formatOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, value]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
  const day = `${of("year")}-${of("month")}-${of("day")}`;
  return `${day} ${of("hour")}:${of("minute")}:${of("second")}.${of("fractionalSecond")} ${of("timeZoneName")}`;
}

/** Time of day of an instant on the clocks of a time zone, as `14:05:09`. */
export function clockText(atMs: number, zone: string): string {
  return absoluteText(atMs, zone).slice(11, 19);
}

/** Whether a browser knows a time zone. */
export function isZone(zone: string): boolean {
  try {
    return formatOf(zone) !== null;
  } catch {
    return false;
  }
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** @throws {RangeError} there is no such time zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone);
  if (known !== undefined) return known;
  const [two, whole] = ["2-digit", "numeric"] as const;
  const made = new Intl.DateTimeFormat("en-GB", {
    ...{ timeZone, hourCycle: "h23", timeZoneName: "short", fractionalSecondDigits: 3 },
    ...{ year: whole, month: two, day: two, hour: two, minute: two, second: two },
  });
  FORMATS.set(timeZone, made);
  return made;
}
