import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { retryAtMs } from "./retry-after.ts";

describe("Retry-After", () => {
  const nowMs = Date.UTC(2026, 0, 1);

  it("is seconds or an HTTP date", () => {
    assert.equal(retryAtMs("120", nowMs), nowMs + 120_000);
    assert.equal(retryAtMs("Thu, 01 Jan 2026 00:05:00 GMT", nowMs), nowMs + 300_000);
  });

  it("leaves it to the backoff where it does not delay, or is something else", () => {
    for (const header of [undefined, "", "0", "-5", "soon", "1.5", "Wed, 31 Dec 2025 23:00:00 GMT", ["1"]]) {
      assert.equal(retryAtMs(header, nowMs), null, String(header));
    }
  });

  it("sends nobody away for more than a day", () => {
    assert.equal(retryAtMs("999999999999", nowMs), nowMs + 86_400_000);
    assert.equal(retryAtMs("Fri, 01 Jan 2100 00:00:00 GMT", nowMs), nowMs + 86_400_000);
  });
});
