import type { EpochMs } from "../../domain/ids.ts";

const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}:\d{2})?$/;
const YEAR_MIN = 1970;
const YEAR_MAX = 9999;

/**
 * Parses an ISO 8601 instant with its offset; digits after the millisecond are cut off.
 * @returns the instant, or a sentence that says what would be right
 */
export function parseInstant(text: string): EpochMs | string {
  const match = INSTANT.exec(text);
  if (match === null)
    return "must be an ISO 8601 time with a zone, as 2030-01-31T09:30:00Z or 2030-01-31T09:30:00+02:00";
  const [, year, month, day, hour, minute, second = "0", fraction = "", zone] = match;
  if (zone === undefined) return 'has no zone: end it with "Z" or an offset such as "+02:00"';
  if (Number(year) < YEAR_MIN) return `must lie in the years ${YEAR_MIN} to ${YEAR_MAX}`;
  const millis = Number(fraction.slice(0, 3).padEnd(3, "0"));
  const local = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    millis,
  );
  // Date.UTC carries over values that are too large: the 30th of February would silently be the 2nd of March.
  const asWritten = `${year}-${month}-${day}T${hour}:${minute}:${second.padStart(2, "0")}`;
  if (!new Date(local).toISOString().startsWith(asWritten)) return "is a day or a time of day that does not exist";
  const offsetMs = offsetOf(zone);
  if (offsetMs === null) return 'has an offset that does not exist: it must lie between "-18:00" and "+18:00"';
  const instant = local - offsetMs;
  return instant >= 0 && instant <= INSTANT_MAX ? instant : `must lie in the years ${YEAR_MIN} to ${YEAR_MAX}`;
}

/** End of the year 9999: the latest time that this server accepts or computes. */
export const INSTANT_MAX: EpochMs = Date.UTC(YEAR_MAX, 11, 31, 23, 59, 59, 999);

/** Number of instants whose texts are kept. The events and answers of one moment repeat few instants. */
const KEPT = 1_024;
const keptInstants = new Float64Array(KEPT).fill(Number.NaN);
const keptTexts: string[] = Array.from({ length: KEPT }, () => "");

export function formatInstant(at: EpochMs): string {
  const index = at % KEPT;
  if (keptInstants[index] === at) return keptTexts[index] as string;
  const text = new Date(at).toISOString();
  // Instants before 1970 and fractions of a millisecond have no place.
  if (index in keptTexts) {
    keptInstants[index] = at;
    keptTexts[index] = text;
  }
  return text;
}

export function formatInstantOrNull(at: EpochMs | null): string | null {
  return at === null ? null : formatInstant(at);
}

function offsetOf(zone: string): number | null {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (minutes > 59 || hours * 60 + minutes > 18 * 60) return null;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
