import { BadTzif } from "./bad-tzif.ts";
import { TimeZone } from "./time-zone.ts";
import { readTzif } from "./tzif.ts";
import type { ZoneFiles } from "./zone-data.ts";

/** A version of the time zone database as plain data: one JSON file, one column of the store. */
export interface ZoneFilesText {
  /** Version, such as `2026f`. */
  version: string;
  /** ISO date of the release; null: not known. */
  releasedOn: string | null;
  /** TZif files in base64 by the names of zones. A value such as `=Europe/Berlin` refers to the zone of that name. */
  zones: Readonly<Record<string, string>>;
}

const VERSION = /^[0-9]{4}[a-z]{1,2}([.+-][A-Za-z0-9.+-]{1,20})?$/;
const ZONE_NAME = /^[A-Za-z0-9][A-Za-z0-9_+/-]{0,63}$/;
const ZONES_MAX = 5_000;
/** Zones that data must have to be accepted as the time zone database. */
const NEEDED = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"];

/** @throws {Error} the text is not the JSON of a time zone database; the message says where it differs */
export function parseZoneFiles(json: string): ZoneFilesText {
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    throw new Error("it is not JSON");
  }
  const { version, releasedOn = null, zones } = (content ?? {}) as Partial<ZoneFilesText>;
  if (typeof version !== "string" || typeof zones !== "object" || zones === null) {
    throw new Error('it lacks "version" or "zones"');
  }
  if (releasedOn !== null && !/^\d{4}-\d\d-\d\d$/.test(releasedOn)) throw new Error('its "releasedOn" is no date');
  return { version, releasedOn, zones };
}

/** @throws {Error} one of the zones cannot be read; the message names it */
export function checkZoneFiles(files: ZoneFiles): void {
  if (!VERSION.test(files.version))
    throw new Error(`${JSON.stringify(files.version).slice(0, 40)} is no version such as 2026f`);
  if (files.names.length > ZONES_MAX) throw new Error(`it has ${files.names.length} zones, and may have ${ZONES_MAX}`);
  const missing = NEEDED.find((name) => !files.names.includes(name));
  if (missing !== undefined) throw new Error(`it lacks the zone ${missing}`);
  for (const name of files.names) checkZone(files, name);
}

function checkZone(files: ZoneFiles, name: string): void {
  if (!ZONE_NAME.test(name)) throw new Error(`${JSON.stringify(name).slice(0, 80)} is no name of a zone`);
  try {
    new TimeZone(readTzif(files.read(name))).stretchAt(0);
  } catch (error) {
    if (error instanceof BadTzif) throw new Error(`the zone ${name} ${error.message}`, { cause: error });
    throw error;
  }
}

export function zoneFilesOf({ version, releasedOn, zones }: ZoneFilesText): ZoneFiles {
  return {
    ...{ version, releasedOn, names: Object.keys(zones) },
    read: (name) => {
      const text = Object.hasOwn(zones, name) ? zones[name] : undefined;
      const target = text?.startsWith("=") ? text.slice(1) : null;
      const found = target === null ? text : Object.hasOwn(zones, target) ? zones[target] : undefined;
      if (typeof found !== "string") throw new BadTzif(`stands for ${target ?? "nothing"}, which is not there`);
      return fromBase64(found);
    },
  };
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Map([...DIGITS].map((digit, value) => [digit.charCodeAt(0), value]));

/** Decodes base64, because the platform's own decoder is not part of the language yet. */
function fromBase64(text: string): Uint8Array {
  const digits = text.replace(/=+$/, "");
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let [held, bits, at] = [0, 0, 0];
  for (let i = 0; i < digits.length; i++) {
    const value = VALUES.get(digits.charCodeAt(i));
    if (value === undefined) throw new BadTzif("is not base64");
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = (held >> bits) & 0xff;
  }
  return bytes;
}
