import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkZoneFiles, readZoneFolder, type ZoneFilesText, zoneFilesOf } from "@mainspring/server/testing";

/**
 * Manages the time zone data: `npm run tzdata` prints the version in the package @mainspring/tzdata; `npm run tzdata --
 * --update [2026f]` generates it from the PyPI package tzdata, the newest one or that version; `--to FILE` writes the
 * data elsewhere and leaves the package unchanged, `--zones UTC,Europe/Berlin` limits it to these zones.
 */

const PACKAGE = "packages/tzdata/package.json";
const DATA = "packages/tzdata/src/tzdata.json";
const args = process.argv.slice(2);
const toIndex = args.indexOf("--to");
const to = toIndex < 0 ? DATA : (args[toIndex + 1] ?? fail("--to needs the name of a file"));
const zonesIndex = args.indexOf("--zones");
const only = zonesIndex < 0 ? null : (args[zonesIndex + 1] ?? fail("--zones needs names of zones"));
const updateIndex = args.indexOf("--update");

if (updateIndex < 0) console.log(told(JSON.parse(readFileSync(DATA, "utf8")) as ZoneFilesText));
else update(args[updateIndex + 1]?.match(/^\d{4}[a-z]$/)?.[0] ?? null);

function update(wanted: string | null): void {
  const folder = mkdtempSync(join(tmpdir(), "tzdata-"));
  try {
    const data = chosen(readWheel(download(folder, wanted), folder));
    checkZoneFiles(zoneFilesOf(data));
    writeFileSync(to, `${JSON.stringify(data, null, 2)}\n`);
    if (to === DATA) writePackageVersion(data.version);
    console.log(`${to}: ${told(data)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** All zones, or the requested ones together with those to which they link. */
function chosen(data: ZoneFilesText): ZoneFilesText {
  if (only === null) return data;
  const all = data.zones;
  const textOf = (name: string) => all[name]?.replace(/^=(.*)$/, (_, target: string) => all[target] ?? "");
  return { ...data, zones: Object.fromEntries(only.split(",").map((name) => [name, textOf(name) ?? ""])) };
}

/** Downloads the data. PyPI numbers the releases of a year: 2026.6 is 2026f. */
function download(folder: string, wanted: string | null): string {
  const which = wanted === null ? "tzdata" : `tzdata==${wanted.slice(0, 4)}.${wanted.charCodeAt(4) - 96}`;
  execFileSync("pip", ["download", "--quiet", "--no-deps", "--dest", folder, which], { stdio: "inherit" });
  const wheel = readdirSync(folder).find((name) => name.endsWith(".whl"));
  return wheel === undefined ? fail("pip downloaded no wheel") : join(folder, wheel);
}

function readWheel(wheel: string, folder: string): ZoneFilesText {
  // The wheel has the time at which each file was packed, which is the day of its release; extracted files lose this
  // time.
  const script =
    "import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); z.extractall(sys.argv[2]); print('%d-%02d-%02d' % z.infolist()[0].date_time[:3])";
  const out = execFileSync("python3", ["-c", script, wheel, folder], { encoding: "utf8" });
  const zones = join(folder, "tzdata", "zoneinfo");
  if (!statSync(zones).isDirectory()) fail(`${wheel} has no folder of zones`);
  return { ...readZoneFolder(zones), releasedOn: out.trim() };
}

/** Writes the version into the package, its dependents and the lockfile. */
function writePackageVersion(version: string): void {
  const { version: before } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { version: string };
  const number = `${version.slice(0, 4)}.${version.charCodeAt(4) - 96}.0`;
  for (const file of [PACKAGE, "packages/server/package.json", "package-lock.json"]) {
    const text = readFileSync(file, "utf8");
    const renamed = text.replaceAll(`"@mainspring/tzdata": "${before}"`, `"@mainspring/tzdata": "${number}"`);
    const named = `"name": "@mainspring/tzdata",\n`;
    writeFileSync(file, renamed.replace(new RegExp(`(${named}\\s*"version": )"${before}"`), `$1"${number}"`));
  }
}

function told({ version, releasedOn, zones }: ZoneFilesText): string {
  return `${version} of ${releasedOn}, ${Object.keys(zones).length} names of zones`;
}

function fail(message: string): never {
  console.error(`tzdata: ${message}`);
  process.exit(1);
}
