import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { formerZones } from "../../domain/schedule/testing/zones.ts";
import type { ZoneFilesText } from "../../domain/schedule/zones/zone-files.ts";
import { givenZones, packagedZones, systemZones } from "./time-zone-data.ts";

const folder = mkdtempSync(join(tmpdir(), "zones-"));
after(() => rmSync(folder, { recursive: true }));

let made = 0;

function fileWith(content: string): string {
  const path = join(folder, `${++made}.json`);
  writeFileSync(path, content);
  return path;
}

/** A folder of zones as operating systems have it. */
function folderWith({ version, zones }: ZoneFilesText): string {
  const path = join(folder, String(++made));
  for (const [name, text] of Object.entries(zones)) {
    mkdirSync(join(path, name, ".."), { recursive: true });
    writeFileSync(join(path, name), Buffer.from(text.startsWith("=") ? (zones[text.slice(1)] ?? "") : text, "base64"));
  }
  writeFileSync(join(path, "tzdata.zi"), `# version ${version}\n`);
  writeFileSync(join(path, "zone.tab"), "no zone");
  return path;
}

describe("time zone data that the operator gives", () => {
  it("may be a folder of compiled zones, or a JSON file", () => {
    const given = formerZones("2026c");
    assert.deepEqual(givenZones(fileWith(JSON.stringify(given))), given);
    const read = givenZones(folderWith(given));
    assert.deepEqual([read.version, read.zones["America/Edmonton"]], ["2026c", given.zones["America/Edmonton"]]);
  });

  it("is refused where it is something else, and the message names the place and the fault", () => {
    const given = formerZones("2026c");
    const withZone = (name: string, text: string) =>
      JSON.stringify({ ...given, zones: { ...given.zones, [name]: text } });
    const cut = Buffer.from(given.zones["Europe/Berlin"] ?? "", "base64")
      .subarray(0, 300)
      .toString("base64");
    for (const [content, fault] of [
      ["not JSON", /it is not JSON/],
      ["null", /it lacks "version" or "zones"/],
      [JSON.stringify({ ...given, version: "newest" }), /"newest" is no version such as 2026f/],
      [JSON.stringify({ ...given, zones: {} }), /it lacks the zone UTC/],
      [withZone("Europe/Berlin", cut), /the zone Europe\/Berlin ends before its footer/],
      [withZone("Europe/Berlin", "AAAA"), /the zone Europe\/Berlin does not begin with "TZif"/],
      [withZone("Europe/Berlin", "=Mars/Base"), /stands for Mars\/Base, which is not there/],
      [withZone("../etc/passwd", "AAAA"), /"..\/etc\/passwd" is no name of a zone/],
    ] as const) {
      assert.throws(
        () => givenZones(fileWith(content)),
        (error: Error) => {
          assert.match(error.message, /^MAINSPRING_TZDATA: .*[.]json cannot be used: /);
          assert.match(error.message, fault);
          return true;
        },
      );
    }
    assert.throws(() => givenZones(join(folder, "nowhere")), /cannot be used: ENOENT/);
    assert.throws(() => givenZones(folder), /neither "tzdata.zi" nor "\+VERSION"/);
  });

  it("is refused where a file has random bytes in any place, or is read as a zone that ends", () => {
    const bytes = Buffer.from(formerZones("2026c").zones["America/New_York"] ?? "", "base64");
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = Buffer.from(bytes);
      changed.fill(0xee, at, Math.min(at + 5, bytes.length));
      const zones = { ...formerZones("2026c").zones, "America/New_York": changed.toString("base64") };
      const path = fileWith(JSON.stringify({ ...formerZones("2026c"), zones }));
      try {
        givenZones(path);
      } catch (error) {
        assert.match((error as Error).message, /the zone America\/New_York /);
      }
    }
  });
});

describe("time zone data of the system", () => {
  it("counts where it is newer than the server's own, and whatever is wrong with it harms nobody", () => {
    const given = formerZones("2026c");
    assert.equal(systemZones("2025b", folderWith(given))?.version, "2026c");
    assert.equal(systemZones("2026c", folderWith(given)), null);
    assert.equal(systemZones("2025b", join(folder, "nowhere")), null);
  });
});

it("comes with the server for every zone that the platform knows", () => {
  const known = Object.keys(packagedZones().zones);
  assert.deepEqual(
    Intl.supportedValuesOf("timeZone").filter((name) => !known.includes(name)),
    [],
  );
});
