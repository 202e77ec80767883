import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import fc from "fast-check";
import { keptBody, readBody } from "./kept-body.ts";

describe("what is kept of a body", () => {
  it("is all of it, as text where it is text", () => {
    const kept = { body: 'a "line"\n€', encoding: "utf8", truncated: false };
    assert.deepEqual(keptBody(Buffer.from(kept.body), false, 100), kept);
    assert.deepEqual(keptBody(Buffer.from([0xff, 0xfe, 0]), false, 100), {
      body: "//4A",
      encoding: "base64",
      truncated: false,
    });
  });

  it("does not count a character that was cut in two against the text", () => {
    const bytes = Buffer.from("100 €").subarray(0, -1);
    assert.deepEqual(keptBody(bytes, true, 100), { body: "100 ", encoding: "utf8", truncated: true });
    assert.equal(keptBody(bytes, false, 100).encoding, "base64");
  });

  it("fits into its place as JSON, and says so where that cut it", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.string({ unit: "binary", maxLength: 100 }),
        fc.nat(400),
        (raw, text, room) => {
          for (const bytes of [Buffer.from(raw), Buffer.from(text)]) {
            const { body, encoding, truncated } = keptBody(bytes, false, room + 2);
            assert.ok(Buffer.byteLength(JSON.stringify(body)) <= room + 2);
            const kept = Buffer.from(body, encoding);
            assert.equal(bytes.indexOf(kept), 0);
            assert.equal(truncated, kept.length < bytes.length);
          }
        },
      ),
    );
  });

  it("is read no further than to the bound", async () => {
    let isOver = false;
    async function* endless() {
      try {
        for (;;) yield Buffer.alloc(1_000, "x");
      } finally {
        isOver = true;
      }
    }
    const { bytes, isCut } = await readBody(Readable.from(endless(), { objectMode: false }), 2_500);
    assert.deepEqual([bytes.length, isCut, isOver], [2_500, true, true]);
    assert.deepEqual(await readBody(Readable.from([Buffer.from("abc")]), 3), {
      bytes: Buffer.from("abc"),
      isCut: false,
    });
  });
});
