import { readFileSync, writeFileSync } from "node:fs";
import { entryFor, gapsOf, type Lockfile } from "./lockfile/platforms.ts";

/**
 * Checks that package-lock.json contains the packages of every platform; with --complete adds missing ones. npm omits
 * packages that its registry lacked when it wrote the file, and `npm ci` then refuses the file everywhere.
 */

const FILE = "package-lock.json";
const lockfile = JSON.parse(readFileSync(FILE, "utf8")) as Lockfile;
const gaps = gapsOf(lockfile);

if (process.argv.includes("--complete")) complete();
else if (gaps.length > 0) {
  console.error(`${FILE} lacks ${gaps.map(({ name }) => name).join(", ")}`);
  console.error("npm ci would refuse it; run: node tools/lockfile.ts --complete");
  process.exitCode = 1;
}

function complete(): void {
  const added = gaps.map((gap) => [`node_modules/${gap.name}`, entryFor(gap)] as const);
  const packages = [...Object.entries(lockfile.packages), ...added].sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify({ ...lockfile, packages: Object.fromEntries(packages) }, null, 2)}\n`);
  console.log(`${FILE}: added ${added.length} packages of other platforms`);
}
