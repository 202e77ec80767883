import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { durationMs, instant, integer, label, priority, repeated } from "./option-values.ts";

describe("option values", () => {
  it("reads durations with their unit", () => {
    assert.equal(durationMs("250ms"), 250);
    assert.equal(durationMs("1.5s"), 1_500);
    assert.equal(durationMs("2h"), 7_200_000);
    for (const text of ["10", "", "s", "-1s", "1 s", "1w"])
      assert.throws(() => durationMs(text), /number and its unit/);
  });

  it("takes times only with a zone, because it cannot know the reader's", () => {
    assert.equal(instant("2030-01-31T08:00:00+01:00"), "2030-01-31T08:00:00+01:00");
    for (const text of ["2030-01-31T08:00:00", "2030-01-31", "soon", "2030-13-01T00:00:00Z"]) {
      assert.throws(() => instant(text), /time with its zone/);
    }
  });

  it("keeps numbers and priorities within their range", () => {
    assert.equal(integer(1, 10)("10"), 10);
    for (const text of ["0", "11", "1e1", " 1", "one"]) assert.throws(() => integer(1, 10)(text), /from 1 to 10/);
    assert.equal(priority("high"), "HIGH");
    assert.equal(priority("9"), 9);
    assert.throws(() => priority("10"), /0 to 9/);
  });

  it("gathers what may be repeated", () => {
    assert.deepEqual(repeated("region=eu", repeated("gpu")), ["gpu", "region=eu"]);
    assert.deepEqual(label("team=a=b", label("env=prod")), { env: "prod", team: "a=b" });
    assert.throws(() => label("=x"), /key=value/);
  });
});
