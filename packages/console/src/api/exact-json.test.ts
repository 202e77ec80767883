import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hrefOf, parseRoute } from "../state/route.ts";
import { ExactNumber, parseExactly } from "./exact-json.ts";

describe("answers and addresses", () => {
  it("keep numbers that a double cannot hold", () => {
    const { big, fine, exponent, long } = parseExactly(
      '{"big": 12345678901234567890, "fine": 1.50, "exponent": 1e3, "long": 0.1234567890123456789}',
    ) as Record<string, unknown>;
    assert.ok(big instanceof ExactNumber && big.text === "12345678901234567890");
    assert.deepEqual([fine, exponent], [1.5, 1_000]);
    assert.ok(long instanceof ExactNumber);
  });

  it("name a place, and are read back", () => {
    const href = hrefOf(["jobs", "a/b ü"], { state: "DEAD", pool: "", label: "k=v&w", cursor: undefined });
    assert.equal(href, "#/jobs/a%2Fb%20%C3%BC?state=DEAD&label=k%3Dv%26w");
    assert.deepEqual(parseRoute(href), { path: ["jobs", "a/b ü"], query: { state: "DEAD", label: "k=v&w" } });
  });

  it("lead nowhere rather than to an error where they are broken", () => {
    assert.deepEqual(parseRoute("#/jobs/%E0%A4%A?x"), { path: ["jobs", "%E0%A4%A"], query: { x: "" } });
    assert.deepEqual(parseRoute(""), { path: [], query: {} });
  });
});
