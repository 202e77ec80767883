import assert from "node:assert/strict";
import { it } from "node:test";
import { idTimeMs } from "../occurrence-id.ts";
import { nodeExecutionId } from "./node-id.ts";

const RUN = "019ab0c1-d2e3-7f45-8a6b-0123456789ab";

it("is derived alike for ever, because stored rows have it", () => {
  assert.equal(nodeExecutionId(RUN, 0, null, 0), "019ab0c1-d2e3-74fb-95ff-c6182f256707");
  assert.equal(nodeExecutionId(RUN, 9_999, 99_999, 3), "019ab0c1-d2e3-76c9-ac6e-f1505629b94b");
});

it("is a UUIDv7 with the time of the run", () => {
  for (let node = 0; node < 1_000; node++) {
    const id = nodeExecutionId(RUN, node, null, 0);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(idTimeMs(id), idTimeMs(RUN));
  }
});

it("differs by run, node, item and salt", () => {
  const ids = new Set<string>([RUN]);
  const runs = [RUN, RUN.replace(/b$/, "c"), RUN.replace("7f45", "7f44"), RUN.replace("8a6b", "9a6b")];
  for (const run of runs) {
    for (let node = 0; node < 60; node++) {
      for (const item of [null, ...Array.from({ length: 60 }, (_, i) => i)]) {
        for (const salt of [0, 1, 2]) ids.add(nodeExecutionId(run, node, item, salt));
      }
    }
  }
  assert.equal(ids.size, 1 + 4 * 60 * 61 * 3);
});

it("spreads evenly over each of its random bits", () => {
  const ones = Array.from({ length: 74 }, () => 0);
  const count = 4_000;
  for (let node = 0; node < count; node++) {
    const digits = nodeExecutionId(RUN, node, null, 0).replaceAll("-", "");
    const variant = Number.parseInt(digits.slice(16, 20), 16) & 0x3fff;
    const bits = BigInt(`0x${digits.slice(13, 16)}${digits.slice(20)}`) | (BigInt(variant) << 60n);
    for (let bit = 0; bit < 74; bit++) if ((bits >> BigInt(bit)) & 1n) (ones[bit] as number)++;
  }
  // 2,000 are expected, with a standard deviation of 32.
  for (const [bit, number] of ones.entries()) assert.ok(Math.abs(number - count / 2) < 200, `bit ${bit}: ${number}`);
});
