import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "./testing/zones.ts";
import { clockChanges } from "./testing/walk.ts";
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

  it("is no abbreviation that countries share", () => {
    for (const name of ["PST", "IST", "CST", "BST", "SystemV/PST8PDT", "localtime"])
      assert.match(refusalOf(name), /is no zone/);
  });
});
