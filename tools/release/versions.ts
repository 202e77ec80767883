import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Its version is that of the time zone database, set by `npm run tzdata`. */
const OWN_VERSION = "@mainspring/tzdata";
const SCOPE = "@mainspring/";
const VERSION = /^(\d+)[.](\d+)[.](\d+)(?:-([0-9a-z.-]+))?$/;

type Json = { [key: string]: unknown };

/** The version of the packages that are released together. */
export function currentVersion(root: string): string {
  return String(readJson(join(root, "package.json"))["version"]);
}

/** @throws {Error} `next` is no version, or not above the current one */
export function checkVersion(current: string, next: string): void {
  if (!VERSION.test(next)) throw new Error(`${next} is no version: say it as 1.2.3 or 1.2.3-rc.1`);
  if (!isAbove(next, current)) throw new Error(`the version ${next} is not above the current one, ${current}`);
}

/** The version with the next minor number: what a release has that says nothing else. */
export function nextMinor(current: string): string {
  const [, major, minor] = VERSION.exec(current) ?? [];
  return `${major}.${Number(minor) + 1}.0`;
}

/** Gives all packages one version, also where they depend on each other and in the lockfile. */
export function setVersion(root: string, version: string): void {
  for (const path of [join(root, "package.json"), ...globSync(join(root, "packages/*/package.json"))])
    writeJson(path, withVersion(readJson(path), version));
  const path = join(root, "package-lock.json");
  const lockfile = readJson(path);
  const packages = Object.entries(lockfile["packages"] as Record<string, Json>).map(([place, entry]) => [
    place,
    // The other places are those of packages that npm has installed, and of links to ours.
    /^(packages\/[^/]+)?$/.test(place) ? withVersion(entry, version) : entry,
  ]);
  writeJson(path, { ...lockfile, version, packages: Object.fromEntries(packages) });
}

function withVersion(manifest: Json, version: string): Json {
  const changed = Object.entries(manifest).map(([field, value]) => {
    if (field === "version") return [field, manifest["name"] === OWN_VERSION ? value : version];
    return [field, /[dD]ependencies$/.test(field) ? dependenciesWith(value as Json, version) : value];
  });
  return Object.fromEntries(changed) as Json;
}

function dependenciesWith(dependencies: Json, version: string): Json {
  const isOurs = (name: string) => name.startsWith(SCOPE) && name !== OWN_VERSION;
  return Object.fromEntries(Object.entries(dependencies).map(([name, now]) => [name, isOurs(name) ? version : now]));
}

function isAbove(next: string, current: string): boolean {
  const [a, b] = [next, current].map((version) => {
    const [, major, minor, patch, before] = VERSION.exec(version) ?? [];
    return { numbers: [major, minor, patch].map(Number), before };
  });
  for (const [index, number] of (a?.numbers ?? []).entries()) {
    const other = b?.numbers[index] ?? 0;
    if (number !== other) return number > other;
  }
  // 1.2.3 is above 1.2.3-rc.2, which is above 1.2.3-rc.1.
  if (a?.before === undefined || b?.before === undefined) return a?.before === undefined && b?.before !== undefined;
  return a.before.localeCompare(b.before, "en", { numeric: true }) > 0;
}

const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8")) as Json;
const writeJson = (path: string, value: Json) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
