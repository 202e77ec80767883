import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compressionsAlgorithms } from "@platformatic/kafka";
import { boundExpansion, EXPANDED_MAX_BYTES, ExpansionRefused } from "./expansion.ts";

boundExpansion(compressionsAlgorithms);
boundExpansion(compressionsAlgorithms);

/** The next response is parsed in another turn. */
const nextResponse = () => Promise.resolve();
const expand = (name: "gzip" | "zstd" | "snappy" | "lz4", data: Buffer) =>
  compressionsAlgorithms[name].decompressSync(data) as Buffer;

describe("records of Kafka that were compressed with", () => {
  for (const name of ["gzip", "zstd", "snappy", "lz4"] as const) {
    const { compressSync } = compressionsAlgorithms[name];
    const packed = (bytes: number) => Buffer.from(compressSync(Buffer.alloc(bytes, "ab")) as Buffer);

    it(`${name} expand up to the bound, and no further`, async () => {
      const most = name === "lz4" ? EXPANDED_MAX_BYTES / 2 : EXPANDED_MAX_BYTES;
      await nextResponse();
      assert.equal(expand(name, packed(most)).length, most);
      await nextResponse();
      assert.throws(() => expand(name, packed(8 * EXPANDED_MAX_BYTES)), ExpansionRefused);
    });

    it(`${name} share the bound if they are in one response`, async () => {
      const third = packed(EXPANDED_MAX_BYTES / 3);
      await nextResponse();
      for (let n = 0; n < 2; n++) expand(name, third);
      assert.throws(() => {
        for (let n = 0; n < 2; n++) expand(name, third);
      }, ExpansionRefused);
      await nextResponse();
      expand(name, third);
    });
  }

  it("snappy in the format of Java are measured chunk by chunk", async () => {
    const chunk = Buffer.from(compressionsAlgorithms.snappy.compressSync(Buffer.alloc(1_000_000)) as Buffer);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(chunk.length);
    const header = Buffer.concat([Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]), Buffer.alloc(8)]);
    const framed = (chunks: number) =>
      Buffer.concat([header, ...Array.from({ length: chunks }, () => [length, chunk]).flat()]);
    await nextResponse();
    assert.equal(expand("snappy", framed(2)).length, 2_000_000);
    await nextResponse();
    assert.throws(() => expand("snappy", framed(9)), ExpansionRefused);
  });
});
