import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Payloads } from "./payloads.ts";

/** A store that has every payload, and what was read of it. */
function scene() {
  const read: string[] = [];
  const payloads = new Payloads({
    payloads: async (ids) => {
      read.push(...ids);
      return new Map(ids.map((id) => [id, Buffer.from(`stored ${id}`)]));
    },
  });
  const keep = (id: string, payload: Uint8Array = Buffer.from(id), dueAt = 0) =>
    payloads.keep([{ row: { id, dueAt, attempt: 0 }, payload }], 1_000);
  const get = async (executionId: string, attempt = 1) => {
    const assign = { executionId, attempt, payloadBytes: 1, payload: null as Uint8Array | null };
    await payloads.attach([assign]);
    return Buffer.from(assign.payload ?? []).toString();
  };
  return { payloads, keep, get, read };
}

describe("payloads on their way to workers", () => {
  it("are at hand for the first attempt after their hint, and read for those after it", async () => {
    const { keep, get, read } = scene();
    keep("a");
    assert.equal(await get("a"), "a");
    assert.deepEqual(read, []);
    assert.equal(await get("a", 2), "stored a");
  });

  it("are read where the job was changed before its first attempt, or the hint tells of a later one", async () => {
    const { payloads, keep, get } = scene();
    keep("a");
    assert.equal(await get("a", 2), "stored a");
    payloads.keep([{ row: { id: "b", dueAt: 0, attempt: 1 }, payload: Buffer.from("b") }], 1_000);
    assert.equal(await get("b", 2), "stored b");
  });

  it("stay in the store where they are for later", async () => {
    const { keep, get } = scene();
    keep("a", Buffer.from("a"), 1_001);
    assert.equal(await get("a"), "stored a");
  });

  it("are forgotten, the oldest first, when a hundred thousand came after them", async () => {
    const { keep, get, read } = scene();
    for (let n = 0; n < 150_000; n++) keep(`${n}`);
    assert.equal(await get("0"), "stored 0");
    assert.equal(await get("149999"), "149999");
    assert.equal(await get("50000"), "50000");
    assert.deepEqual(read, ["0"]);
  });

  it("are forgotten when so many bytes came after them, whoever is never asked for", async () => {
    const { keep, get, read } = scene();
    const mebibyte = Buffer.alloc(1024 * 1024, "x");
    for (let n = 0; n < 80; n++) keep(`${n}`, mebibyte);
    keep("last");
    assert.equal(await get("last"), "last");
    assert.equal(await get("0"), "stored 0");
    assert.deepEqual(read, ["0"]);
  });
});
