import { refuse, refuseAt, type ScheduleRefusal } from "./refusal.ts";
import { TimeZone } from "./time-zone.ts";

/** No name of the time zone database is longer. */
const NAME_LENGTH_MAX = 64;
/** All that the database has: other three letters that a platform takes are abbreviations, which countries share. */
const THREE_LETTERS = ["CET", "EET", "EST", "GMT", "HST", "MET", "MST", "PRC", "ROC", "ROK", "UCT", "UTC", "WET"];
/**
 * By their lower-case names; what the platform knows bounds them. The first one that is opened costs the platform ten
 * milliseconds or more, which no request shall pay.
 */
const zones = new Map([["utc", new TimeZone("UTC")]]);

/** The zone of this name of the IANA database, in any case; links such as Asia/Calcutta are names too. */
export function readTimeZone(name: string): TimeZone | ScheduleRefusal {
  const key = name.toLowerCase();
  const zone = zones.get(key) ?? open(name);
  if ("message" in zone) return zone;
  zones.set(key, zone);
  return zone;
}

function open(name: string): TimeZone | ScheduleRefusal {
  if (/^[+-]?\d/.test(name))
    return refuse("timezone", `is an offset, which no clock change moves: ${EXAMPLES}, or UTC`);
  const odd = /[^A-Za-z0-9_+/-]/u.exec(name);
  if (name.length > NAME_LENGTH_MAX || odd !== null) {
    const position = odd === null ? NAME_LENGTH_MAX + 1 : odd.index + 1;
    return refuseAt("timezone", null, position, `no name of a zone has that; ${EXAMPLES}`);
  }
  const abbreviation = /^([A-Z]{3}|SystemV.*|US\/Pacific-New)$/i.test(name);
  if (abbreviation && !THREE_LETTERS.includes(name.toUpperCase())) return unknown(name);
  try {
    return new TimeZone(name);
  } catch (error) {
    if (error instanceof RangeError) return unknown(name);
    throw error;
  }
}

const EXAMPLES = "give a name of the IANA time zone database, as Europe/Berlin or America/New_York";

function unknown(name: string): ScheduleRefusal {
  const like = alike(name);
  return refuse("timezone", `${JSON.stringify(name)} is no zone: ${like === undefined ? EXAMPLES : `is it ${like}?`}`);
}

/** A zone whose city is called so, or begins so. */
function alike(name: string): string | undefined {
  const city = lettersOf(name.slice(name.lastIndexOf("/") + 1));
  if (city.length < 4) return undefined;
  const names = Intl.supportedValuesOf("timeZone");
  return (
    names.find((known) => lettersOf(known).endsWith(city)) ?? names.find((known) => lettersOf(known).includes(city))
  );
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, "");
}
