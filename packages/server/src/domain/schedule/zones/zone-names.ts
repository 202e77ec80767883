import { refuse, refuseAt, type ScheduleRefusal } from "../refusal.ts";
import type { TimeZone } from "./time-zone.ts";
import { zoneData, zoneInAny } from "./zone-data.ts";

/** Longest accepted name of a zone in characters; the time zone database has no longer one. */
const NAME_LENGTH_MAX = 64;
/**
 * Abbreviations that are names in the database, with their replacements. They never observe daylight saving, although
 * people who write EST mean New York, so the next release refuses them for new schedules.
 */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  EST: "America/New_York with daylight saving, or Etc/GMT+5 without",
  MST: "America/Denver with daylight saving, or America/Phoenix without",
  HST: "Pacific/Honolulu",
};

/**
 * Finds a zone by its name in the IANA database, whatever its case; links such as Asia/Calcutta are names too. If a
 * version lacks the zone, another version's is used, so that no job stands still when an older version comes back into
 * force.
 * @param version see `zoneData`
 */
export function readTimeZone(name: string, version?: string): TimeZone | ScheduleRefusal {
  return zoneData(version).zone(name) ?? zoneInAny(name) ?? refusalOf(name);
}

/** Reason to refuse a zone's name in a new schedule; null: the name is accepted. */
export function zoneNameRefusal(name: string): ScheduleRefusal | null {
  return zoneData().zone(name) === null ? refusalOf(name) : null;
}

/** Warning about a name that this release accepts and the next one refuses; null: there is none. */
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

/** Finds a zone whose city has this name, or a name that begins with it. */
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
