import assert from "node:assert/strict";
import { it } from "node:test";
import { ATTEMPT_LOG_BYTES_MAX, ATTEMPT_LOG_LINES_MAX } from "@mainspring/contract/limits";
import fc from "fast-check";
import { bytesOf, lastLines } from "./log-lines.ts";

const line = (text: string) => ({ at: 1, level: "info", line: text });

it("counts the bytes of a line as UTF-8 has them", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.equal(bytesOf(line(text)), Buffer.byteLength(text));
    }),
    { examples: [["a\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff🚀"]] },
  );
});

it("keeps the last lines of an attempt, as many as fit", () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 8_192 }), { maxLength: 40 });
  fc.assert(
    fc.property(lengths, (all) => {
      const lines = all.map((length) => line("é".repeat(length)));
      const kept = lastLines(lines);
      assert.deepEqual(kept, lines.slice(lines.length - kept.length));
      const sizeOf = (some: typeof lines) => some.reduce((sum, one) => sum + bytesOf(one), 0);
      assert.ok(sizeOf([...kept]) <= ATTEMPT_LOG_BYTES_MAX);
      const next = lines.slice(lines.length - kept.length - 1);
      assert.ok(kept.length === lines.length || sizeOf(next) > ATTEMPT_LOG_BYTES_MAX);
    }),
  );
  const many = Array.from({ length: ATTEMPT_LOG_LINES_MAX + 3 }, (_, n) => line(String(n % 10)));
  assert.deepEqual(lastLines(many), many.slice(3));
});
