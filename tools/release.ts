import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { releasedChangelog } from "./release/changelog.ts";
import { billOfMaterials } from "./release/sbom.ts";
import { checkVersion, currentVersion, nextMinor, setVersion } from "./release/versions.ts";
import { changedFiles, git, workingCopy } from "./release/working-copy.ts";

/**
 * Makes a release: `npm run release -- --version 1.2.3`, by default the next minor version. It gives all packages that version, dates the
 * changelog, writes the tarballs and a bill of materials to `--to` (default `dist`), commits and tags. The push of the tag starts
 * .github/workflows/release.yml, which publishes what `--build` makes: tarballs and bill of materials of the commit that is checked out.
 * `--dry-run` does all this in a copy, and neither commits nor tags.
 */

const ROOT = resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    version: { type: "string" },
    to: { type: "string", default: "dist" },
    "dry-run": { type: "boolean" },
    build: { type: "boolean" },
    repository: { type: "string" },
  },
});
const isDry = values["dry-run"] === true;
const to = resolve(values.to);

try {
  const current = currentVersion(ROOT);
  if (values.build === true) tell(current, build(ROOT, current));
  else prepare(current, values.version ?? nextMinor(current));
} catch (error) {
  console.error(`release: ${(error as Error).message}`);
  process.exitCode = 1;
}

function prepare(current: string, version: string): void {
  refuseChanges();
  checkVersion(current, version);
  if (isDry) tryOut(version);
  else release(version);
}

function tryOut(version: string): void {
  const copy = workingCopy(ROOT);
  try {
    writeVersion(copy, version);
    tell(version, build(copy, version));
    console.log(`Nothing was changed here. The release itself: npm run release -- --version ${version}`);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function release(version: string): void {
  try {
    writeVersion(ROOT, version);
    tell(version, build(ROOT, version));
  } catch (error) {
    // Nothing of the user's is lost: the tree was clean.
    git(ROOT, "restore", ".");
    throw error;
  }
  git(ROOT, "commit", "--all", "--quiet", "--message", `Release ${version}`);
  git(ROOT, "tag", "--annotate", `v${version}`, "--message", `Release ${version}`);
  console.log(`Committed and tagged v${version}. To publish it: git push --follow-tags`);
}

function writeVersion(root: string, version: string): void {
  setVersion(root, version);
  const changelog = join(root, "CHANGELOG.md");
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(changelog, releasedChangelog(readFileSync(changelog, "utf8"), version, today));
}

/** @returns paths of the tarballs, each behind those that it depends on */
function build(root: string, version: string): string[] {
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, `mainspring-${version}.cdx.json`), billOfMaterials(root, "mainspring"));
  const repository = values.repository === undefined ? [] : ["--repository", values.repository];
  const printed = execFileSync(process.execPath, [join(root, "tools/pack.ts"), "--to", to, ...repository], {
    stdio: ["ignore", "pipe", 2],
  });
  return printed.toString().trim().split("\n");
}

function tell(version: string, tarballs: readonly string[]): void {
  console.log(`${isDry ? "A release would publish" : "The release will publish"} ${version}:`);
  for (const tarball of tarballs)
    console.log(`  ${basename(tarball)}, ${(readFileSync(tarball).length / 1024).toFixed(0)} KB`);
  console.log(`Bill of materials: ${join(to, `mainspring-${version}.cdx.json`)}`);
}

/** A release is what was committed. */
function refuseChanges(): void {
  const changed = changedFiles(ROOT);
  if (changed.length === 0) return;
  const message = `the tree is not clean: ${changed.length} files are not committed, as ${changed[0]?.slice(3)}`;
  if (!isDry) throw new Error(message);
  console.error(`release: ${message}; a release would refuse`);
}
