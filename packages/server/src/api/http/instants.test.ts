import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatInstant, parseInstant } from "./instants.ts";

describe("instants", () => {
  it("are read as they are written, in whatever zone", () => {
    assert.equal(parseInstant("1970-01-01T00:00:00Z"), 0);
    assert.equal(parseInstant("2026-07-01T12:00:00.123456+02:00"), Date.UTC(2026, 6, 1, 10, 0, 0, 123));
    assert.equal(parseInstant("2026-07-01T12:00-05:30"), Date.UTC(2026, 6, 1, 17, 30));
    const day = { min: new Date(0), max: new Date("9999-12-31T23:59:59.999Z"), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(day), (date) => {
        assert.equal(parseInstant(formatInstant(date.getTime())), date.getTime());
      }),
    );
  });

  it("are written alike each time, also those that share a place", () => {
    const instants = [0, 1_024, 2_048, 1_790_000_000_123, 1_790_000_000_123 + 1_024, -1, 0.5];
    for (const at of [...instants, ...instants]) assert.equal(formatInstant(at), new Date(at).toISOString());
  });

  it("are refused with a sentence that says what would be right", () => {
    for (const [text, sentence] of [
      ["tomorrow", /ISO 8601/],
      ["2030-01-01", /ISO 8601/],
      ["2030-01-01 00:00:00Z", /ISO 8601/],
      ["2030-01-01T00:00:00", /zone/],
      ["2030-02-29T00:00:00Z", /does not exist/],
      ["2030-01-01T24:00:00Z", /does not exist/],
      ["2030-01-01T00:00:60Z", /does not exist/],
      ["2030-13-01T00:00:00Z", /does not exist/],
      ["2030-01-01T00:00:00+25:00", /offset/],
      ["1969-12-31T23:59:59Z", /years 1970 to 9999/],
      ["1970-01-01T00:00:00+01:00", /years 1970 to 9999/],
      ["9999-12-31T23:59:59-01:00", /years 1970 to 9999/],
    ] as const) {
      assert.match(String(parseInstant(text)), sentence, text);
    }
  });
});
