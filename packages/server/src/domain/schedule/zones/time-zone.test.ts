import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "../testing/zones.ts";
import { clockChanges } from "../testing/walk.ts";
import { zoneData } from "./zone-data.ts";
import { readTimeZone, zoneNameRefusal, zoneNameWarning } from "./zone-names.ts";

const DAY_SEC = 86_400;

function zoneOf(name: string) {
  const zone = zoneData().zone(name);
  assert.ok(zone !== null);
  return zone;
}

function refusalOf(name: string): string {
  const read = zoneNameRefusal(name);
  assert.ok(read !== null, `${name} is taken`);
  assert.equal(read.field, "timezone");
  return read.message;
}

describe("a time zone", () => {
  it("knows each clock change from a day before and from a day after, wherever its pieces end", () => {
    const zone = zoneOf("Europe/London");
    for (let year = 1972; year <= 2070; year++) {
      for (const change of clockChanges("Europe/London", year).map((at) => at / 1_000)) {
        const [before, after] = [zone.stretchAt(change - DAY_SEC), zone.stretchAt(change + DAY_SEC)];
        assert.equal(before.end, change);
        assert.equal(after.start, change);
        assert.deepEqual([after.offsetBeforeSec, before.offsetAfterSec], [before.offsetSec, after.offsetSec]);
      }
    }
  });

  it("overlooks no short time between two changes", () => {
    for (const [name, year, count] of [
      ["America/Noronha", 2000, 3],
      ["Asia/Gaza", 2040, 4],
      ["Asia/Gaza", 2054, 4],
      ["Asia/Gaza", 2072, 4],
    ] as const) {
      const changes = clockChanges(name, year);
      assert.ok(changes.length >= count, `${name} has ${changes.length} changes in ${year}`);
      const zone = zoneOf(name);
      for (const change of changes) assert.equal(zone.stretchAt(change / 1_000).start, change / 1_000);
    }
  });

  it("reads offsets to the second, which Monrovia had", () => {
    assert.equal(zoneOf("Africa/Monrovia").stretchAt(0).offsetSec, -2_670);
  });
});

describe("the name of a time zone", () => {
  it("may be any of the database's, links too, in any case", () => {
    for (const name of ["UTC", "Asia/Calcutta", "america/new_york", "GMT", "Etc/GMT+5", "US/Pacific", "CST6CDT"]) {
      assert.ok(!("message" in readTimeZone(name)), name);
    }
    assert.equal(readTimeZone("america/new_york"), readTimeZone("America/New_York"));
  });

  it("must be one, and the refusal says which may be meant", () => {
    assert.match(refusalOf("America/NewYork"), /is it America\/New_York\?/);
    assert.match(refusalOf("Berlin"), /is it Europe\/Berlin\?/);
    assert.match(refusalOf("Middle/Earth"), /give a name of the IANA time zone database/);
    assert.match(refusalOf(""), /give a name/);
    assert.match(refusalOf("+05:30"), /is an offset/);
    assert.match(refusalOf("Europe/Ber lin"), /character 11/);
    assert.match(refusalOf("x".repeat(1_000)), /character 65/);
  });

  it("may be an abbreviation of a time without daylight saving, with a warning that names what may be meant", () => {
    for (const name of ["EST", "mst", "HST"]) assert.equal(zoneNameRefusal(name), null);
    assert.match(zoneNameWarning("EST") ?? "", /"EST" has no daylight saving time, and the next release refuses it/);
    assert.match(zoneNameWarning("EST") ?? "", /give America\/New_York with/);
    assert.match(zoneNameWarning("mst") ?? "", /give America\/Denver/);
    assert.match(zoneNameWarning("HST") ?? "", /give Pacific\/Honolulu/);
    for (const name of ["EST5EDT", "America/New_York", "constructor", "nowhere"])
      assert.equal(zoneNameWarning(name), null);
  });

  it("may be a name of the database that looks like an abbreviation, with the daylight saving that it has there", () => {
    const [winter, summer] = [Date.UTC(2027, 0, 15) / 1_000, Date.UTC(2027, 6, 15) / 1_000];
    for (const [name, inWinter, inSummer] of [
      ["EST5EDT", -5, -4],
      ["CST6CDT", -6, -5],
      ["MST7MDT", -7, -6],
      ["PST8PDT", -8, -7],
      ["CET", 1, 2],
      ["cet", 1, 2],
      ["MET", 1, 2],
      ["EET", 2, 3],
      ["WET", 0, 1],
      ["GB", 0, 1],
      ["US/Eastern", -5, -4],
      ["us/eastern", -5, -4],
      ["EST", -5, -5],
      ["MST", -7, -7],
      ["HST", -10, -10],
      ["Etc/GMT+5", -5, -5],
      ["etc/gmt-14", 14, 14],
      ["GMT+0", 0, 0],
      ["utc", 0, 0],
      ["Zulu", 0, 0],
    ] as const) {
      assert.equal(zoneNameRefusal(name), null, name);
      const zone = zoneOf(name);
      const hours = [winter, summer].map((at) => zone.stretchAt(at).offsetSec / 3_600 + 0);
      assert.deepEqual(hours, [inWinter, inSummer], name);
    }
  });

  it("is no abbreviation, and no offset", () => {
    for (const name of ["PST", "IST", "CST", "BST", "EDT", "PDT", "JST", "CEST", "AEST", "pst", "Z"])
      assert.match(refusalOf(name), /is no zone; abbreviations are not taken, .*as Europe\/Berlin/, name);
    for (const name of ["+05:30", "-3", "5", "UTC+5", "utc-3", "GMT+5", "UTC+05:30", "GMT-10:00"])
      assert.match(refusalOf(name), /is an offset, which no clock change moves: .*Etc\/GMT-5/, name);
    for (const name of ["SystemV/PST8PDT", "localtime", "Etc/GMT+15", "EST5", "America", "Factory", "posixrules"])
      assert.match(refusalOf(name), /is no zone: give a name of the IANA time zone database/, name);
    for (const [name, meant] of [
      ["Paris", "Europe/Paris"],
      ["rome", "Europe/Rome"],
      ["Tokyo", "Asia/Tokyo"],
    ] as const)
      assert.match(refusalOf(name), new RegExp(`is it ${meant}\\?`));
  });
});
