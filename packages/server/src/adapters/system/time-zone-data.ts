import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import packaged from "@mainspring/tzdata/tzdata.json" with { type: "json" };
import { keepZoneData, ZoneData } from "../../domain/schedule/zones/zone-data.ts";
import {
  checkZoneFiles,
  parseZoneFiles,
  type ZoneFilesText,
  zoneFilesOf,
} from "../../domain/schedule/zones/zone-files.ts";

/** Folder of the operating system's compiled zones, on every Unix. */
const SYSTEM_FOLDER = "/usr/share/zoneinfo";
/** Largest number of files in a folder of zones; the database has 600. */
const FILES_MAX = 5_000;
const FILE_BYTES_MAX = 65_536;
const FOLDERS_DEEP = 4;
/** Largest size of a database as one JSON file, in bytes; the usual size is about 300 KB. */
const JSON_BYTES_MAX = 8 * 1024 * 1024;

/** Error for time zone data that cannot be used; the message names the place and says what would be right. */
class TimeZoneDataUnusable extends Error {
  override readonly name = "TimeZoneDataUnusable";
}

/**
 * Time zone data with which the server can plan: its own, the system's if newer, and the operator's.
 * @throws {TimeZoneDataUnusable}
 */
export function offeredZones(given: string | null): ZoneFilesText[] {
  const system = systemZones(packaged.version);
  return [packagedZones(), ...(system === null ? [] : [system]), ...(given === null ? [] : [givenZones(given)])];
}

/** Data that is part of the server's package. */
export function packagedZones(): ZoneFilesText {
  return packaged as ZoneFilesText;
}

/** Loads the packaged data, so that schedules can be computed. @returns version of the data */
export function usePackagedZones(): string {
  keepZoneData(new ZoneData(zoneFilesOf(packagedZones())));
  return packaged.version;
}

/**
 * Time zone data from the operating system's folder, if its version differs from `known`; null: it has that version, or
 * cannot be read. The operator did not ask for the system's data, so errors in it are ignored.
 */
export function systemZones(known: string, folder = SYSTEM_FOLDER): ZoneFilesText | null {
  try {
    const version = versionIn(folder);
    if (version === null || version <= known) return null;
    return readFolder(folder, version);
  } catch {
    return null;
  }
}

/**
 * Time zone data that the operator configured: a folder of compiled zones, or a JSON file as in @mainspring/tzdata.
 * @throws {TimeZoneDataUnusable}
 */
export function givenZones(path: string): ZoneFilesText {
  try {
    const text = statSync(path).isDirectory() ? readZoneFolder(path) : readJson(path);
    checkZoneFiles(zoneFilesOf(text));
    return text;
  } catch (error) {
    throw new TimeZoneDataUnusable(
      `MAINSPRING_TZDATA: ${path} cannot be used: ${(error as Error).message}. Give a folder of compiled zones ` +
        "(such as /usr/share/zoneinfo) or a JSON file as the package @mainspring/tzdata has it",
      { cause: error },
    );
  }
}

/** Zones of a folder with a version. @throws {Error} the folder is not of this kind */
export function readZoneFolder(folder: string): ZoneFilesText {
  const version = versionIn(folder);
  if (version === null) throw new Error('it has neither "tzdata.zi" nor "+VERSION", which say the version');
  return readFolder(folder, version);
}

function readJson(path: string): ZoneFilesText {
  const { size } = statSync(path);
  if (size > JSON_BYTES_MAX) throw new Error(`it has ${size} bytes, and may have ${JSON_BYTES_MAX}`);
  return parseZoneFiles(readFileSync(path, "utf8"));
}

/** Version that the folder contains, such as `2026f`; null: none. */
function versionIn(folder: string): string | null {
  const texts = ["tzdata.zi", "+VERSION"].map((name) => beginningOf(join(folder, name)));
  const found = /^# version (\S+)/.exec(texts[0] ?? "") ?? /^(\S+)/.exec(texts[1] ?? "");
  return found?.[1] ?? null;
}

function beginningOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8").slice(0, 200);
  } catch {
    return null;
  }
}

function readFolder(folder: string, version: string): ZoneFilesText {
  const zones: Record<string, string> = {};
  const seen = new Map<string, string>();
  for (const name of zoneFilesIn(folder, "", FOLDERS_DEEP)) {
    const bytes = readFileSync(join(folder, name));
    if (bytes.toString("latin1", 0, 4) !== "TZif") continue;
    const text = bytes.toString("base64");
    const same = seen.get(text);
    if (same === undefined) seen.set(text, name);
    zones[name] = same === undefined ? text : `=${same}`;
  }
  if (Object.keys(zones).length === 0) throw new Error("it has no compiled zones");
  const releasedOn = statSync(join(folder, "UTC")).mtime.toISOString().slice(0, 10);
  return { version, releasedOn, zones };
}

/**
 * Files of zones. The folders `posix` and `right` are skipped: they hold the same zones again, the latter with leap
 * seconds.
 */
function zoneFilesIn(folder: string, within: string, deep: number): string[] {
  const names: string[] = [];
  const entries = readdirSync(join(folder, within)).sort();
  for (const entry of entries) {
    const name = within === "" ? entry : `${within}/${entry}`;
    if (within === "" && ["posix", "right", "posixrules", "localtime", "Factory"].includes(entry)) continue;
    const found = statSync(join(folder, name));
    if (found.isDirectory() && deep > 0) names.push(...zoneFilesIn(folder, name, deep - 1));
    else if (found.isFile() && found.size <= FILE_BYTES_MAX) names.push(name);
    if (names.length > FILES_MAX) throw new Error(`it has more than ${FILES_MAX} files`);
  }
  return names;
}
