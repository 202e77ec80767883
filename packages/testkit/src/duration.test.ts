import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { durationMs, durationText } from "./duration.ts";

describe("a duration", () => {
  it("is milliseconds, or a text of counts and units", () => {
    const texts = ["0s", "250ms", "90s", "1.5 min", "1h 30m", "3 days", "2 Weeks", "1day2hours"];
    assert.deepEqual(
      texts.map((text) => durationMs("advance", text)),
      [0, 250, 90_000, 90_000, 5_400_000, 259_200_000, 1_209_600_000, 93_600_000],
    );
    assert.equal(durationMs("advance", 1_500), 1_500);
  });

  it("says what would be right where it is none, or too long", () => {
    for (const wrong of ["", "3", "days", "3 dayz", "1h, 2m", "-1s", -1, Number.NaN, "11 years", "4000 days", null]) {
      const message =
        /^advance: must be milliseconds or a text as "3 days", "90s" or "1h 30m", from 0 to ten years, not /;
      assert.throws(() => durationMs("advance", wrong as string), { code: "BAD_OPTION", message });
    }
  });

  it("is told to people by its two greatest units", () => {
    assert.deepEqual([0, 250, 90_000, 5_400_000, 259_200_500].map(durationText), [
      "0 ms",
      "250 ms",
      "1 min 30 s",
      "1 h 30 min",
      "3 d 500 ms",
    ]);
  });
});
