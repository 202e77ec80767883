import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RawJson, writeJson } from "./raw-json.ts";

describe("writing answers", () => {
  it("puts raw members where they belong, as they are", () => {
    const raw = new RawJson(Buffer.from('{"n":1e400000}'));
    assert.equal(
      writeJson({ a: "x", payload: raw, none: undefined, b: [1] }),
      '{"a":"x","payload":{"n":1e400000},"b":[1]}',
    );
  });

  it("is JSON.stringify for everything else", () => {
    for (const value of [{ a: [{ b: null }] }, [1, 2], "text", null, 5]) {
      assert.equal(writeJson(value), JSON.stringify(value));
    }
  });
});
