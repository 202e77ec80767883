import { refuse, refuseAt, type ScheduleRefusal } from "../refusal.ts";
import type { TimeZone } from "./time-zone.ts";
import { zoneData, zoneInAny } from "./zone-data.ts";

/** No name of the time zone database is longer. */
const NAME_LENGTH_MAX = 64;
/**
 * Abbreviations that the database has as names. They never observe daylight saving, although people who write EST mean
 * New York, so that the next release refuses them for new schedules.
 */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  EST: "America/New_York with daylight saving, or Etc/GMT+5 without",
  MST: "America/Denver with daylight saving, or America/Phoenix without",
  HST: "Pacific/Honolulu",
};

/** The zone of this name of the IANA database, in any case; links such as Asia/Calcutta are names too. @param version see `zoneData`; a
 * zone that it lacks is that of another version, so that no job stands still when an older one comes back into force */
export function readTimeZone(name: string, version?: string): TimeZone | ScheduleRefusal {
  return zoneData(version).zone(name) ?? zoneInAny(name) ?? refusalOf(name);
}

/** Reason to refuse the name of a zone in a new schedule; null: none. */
export function zoneNameRefusal(name: string): ScheduleRefusal | null {
  return zoneData().zone(name) === null ? refusalOf(name) : null;
}

/** The warning about a name that is taken in this release and refused in the next one; null: there is none. */
export function zoneNameWarning(name: string): string | null {
  const abbreviation = name.toUpperCase();
  if (!Object.hasOwn(ABBREVIATIONS, abbreviation)) return null;
  const instead = ABBREVIATIONS[abbreviation];
  return `timezone ${JSON.stringify(name)} has no daylight saving time, and the next release refuses it: give ${instead}`;
}

function refusalOf(name: string): ScheduleRefusal {
  if (/^(?:UTC|GMT|UT)?(?:[+-]\d|\d)/i.test(name)) {
    const instead = `${EXAMPLES}, or UTC, or Etc/GMT-5 for five hours ahead of it`;
    return refuse("timezone", `${shownName(name)} is an offset, which no clock change moves: ${instead}`);
  }
  const odd = /[^A-Za-z0-9_+/-]/u.exec(name);
  if (name.length > NAME_LENGTH_MAX || odd !== null) {
    const position = odd === null ? NAME_LENGTH_MAX + 1 : odd.index + 1;
    return refuseAt("timezone", null, position, `no name of a zone has that; ${EXAMPLES}`);
  }
  const like = alike(name);
  if (like !== undefined) return refuse("timezone", `${JSON.stringify(name)} is no zone: is it ${like}?`);
  const why = /^[A-Z]{1,5}$/i.test(name) ? "; abbreviations are not taken, as countries share them" : "";
  return refuse("timezone", `${JSON.stringify(name)} is no zone${why}: ${EXAMPLES}`);
}

const EXAMPLES = "give a name of the IANA time zone database, as Europe/Berlin or America/New_York";

/** A zone whose city is called so, or begins so. */
function alike(name: string): string | undefined {
  const city = lettersOf(cityOf(name));
  if (city.length < 4) return undefined;
  const names = zoneData().names.filter((known) => known.includes("/"));
  return (
    names.find((known) => lettersOf(known).endsWith(city)) ??
    names.find((known) => lettersOf(cityOf(known)).includes(city))
  );
}

function cityOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function shownName(name: string): string {
  return JSON.stringify(name.slice(0, NAME_LENGTH_MAX));
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, "");
}
