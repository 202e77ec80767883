import assert from "node:assert/strict";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { PUBLISHED } from "../pack/published.ts";
import { releasedChangelog } from "./changelog.ts";
import { billOfMaterials } from "./sbom.ts";
import { checkVersion, currentVersion, nextMinor, setVersion } from "./versions.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const NEXT = "7.8.9";

interface Manifest {
  name: string;
  version: string;
  [field: string]: unknown;
}

/** Dependencies of every kind. */
function dependenciesOf(manifest: Manifest): Record<string, string> {
  const lists = Object.entries(manifest).filter(([field]) => /[dD]ependencies$/.test(field));
  return Object.assign({}, ...lists.map(([, list]) => list));
}

describe("a release", () => {
  let copy: string;

  before(() => {
    copy = mkdtempSync(join(tmpdir(), "mainspring-manifests-"));
    const files = ["package.json", "package-lock.json", ...globSync("packages/*/package.json", { cwd: ROOT })];
    for (const file of files) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      cpSync(join(ROOT, file), join(copy, file));
    }
    setVersion(copy, NEXT);
  });

  after(() => rmSync(copy, { recursive: true, force: true }));

  const manifest = (path: string) => JSON.parse(readFileSync(join(copy, path), "utf8")) as Manifest;

  it("names every package and all that comes with it in the bill of materials", () => {
    const bill = JSON.parse(billOfMaterials(copy, "mainspring"));
    assert.equal(bill.bomFormat, "CycloneDX");
    assert.equal(bill.metadata.component.name, "mainspring");
    const purls = new Set<string>(bill.components.map(({ purl }: { purl: string }) => purl.replace("%40", "@")));
    for (const name of PUBLISHED) {
      const { dependencies = {} } = manifest(`packages/${name}/package.json`) as {
        dependencies?: Record<string, string>;
      };
      for (const [needed, version] of Object.entries(dependencies))
        assert.ok(purls.has(`pkg:npm/${needed}@${version}`), `${name} needs ${needed}`);
    }
    assert.doesNotMatch(JSON.stringify(bill), /"(knip|typescript|verdaccio)"/);
  });

  it("gives all packages one version, but the time zone database its own", () => {
    const { version: before } = JSON.parse(readFileSync(join(ROOT, "packages/tzdata/package.json"), "utf8"));
    assert.equal(currentVersion(copy), NEXT);
    for (const path of globSync("packages/*/package.json", { cwd: copy })) {
      const { name, version, ...rest } = manifest(path);
      assert.equal(version, name === "@mainspring/tzdata" ? before : NEXT, name);
      for (const [needed, wanted] of Object.entries(dependenciesOf({ name, version, ...rest })))
        if (needed.startsWith("@mainspring/")) assert.equal(wanted, needed === "@mainspring/tzdata" ? before : NEXT);
    }
  });

  it("changes no other package in the lockfile", () => {
    const lockfile = (folder: string) => JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")).packages;
    const [is, was] = [lockfile(copy), lockfile(ROOT)] as [Record<string, Manifest>, Record<string, Manifest>];
    assert.deepEqual(Object.keys(is), Object.keys(was));
    const isOurs = (place: string) => globSync(join(copy, place, "package.json")).length === 1;
    for (const [place, entry] of Object.entries(is)) if (!isOurs(place)) assert.deepEqual(entry, was[place], place);
    assert.equal(is["packages/server"]?.version, NEXT);
    assert.equal(dependenciesOf(is["packages/server"] as Manifest)["@mainspring/sdk"], NEXT);
  });

  it("has a version above the current one", () => {
    assert.equal(nextMinor("0.1.0"), "0.2.0");
    assert.equal(nextMinor("1.4.7"), "1.5.0");
    for (const next of ["0.1.1", "0.2.0", "1.0.0", "0.10.0"]) checkVersion("0.1.0", next);
    checkVersion("1.0.0-rc.9", "1.0.0-rc.10");
    checkVersion("1.0.0-rc.9", "1.0.0");
    for (const [current, next] of [
      ["0.2.0", "0.2.0"],
      ["0.10.0", "0.9.0"],
      ["1.0.0", "1.0.0-rc.1"],
    ] as const)
      assert.throws(() => checkVersion(current, next), /is not above the current one/);
    for (const next of ["1.2", "v1.2.3", "1.2.3.4", "latest"])
      assert.throws(() => checkVersion("0.1.0", next), /is no version: say it as 1[.]2[.]3/);
  });

  it("dates what was unreleased in the changelog, and refuses to release nothing", () => {
    const text = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- First.\n";
    const dated =
      "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-03-01\n\n### Added\n\n- A thing.\n\n## 0.1.0 - 2026-01-01\n\n- First.\n";
    assert.equal(releasedChangelog(text, "0.2.0", "2026-03-01"), dated);
    assert.throws(() => releasedChangelog(dated, "0.3.0", "2026-03-02"), /nothing to release/);
    assert.throws(() => releasedChangelog("# Changelog\n", "0.3.0", "2026-03-02"), /not exactly one heading/);
    assert.match(
      releasedChangelog(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), NEXT, "2026-03-01"),
      /^## 7[.]8[.]9 - 2026-03-01$/m,
    );
  });
});
