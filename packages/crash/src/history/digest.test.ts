import assert from "node:assert/strict";
import { it } from "node:test";
import { digestOf } from "./digest.ts";

it("the digest of a value depends on its members, and not on their order", () => {
  assert.equal(digestOf({ key: "a", list: [{ b: 1, c: 2 }] }), digestOf({ list: [{ c: 2, b: 1 }], key: "a" }));
  assert.notEqual(digestOf({ key: "a", list: [1, 2] }), digestOf({ key: "a", list: [2, 1] }));
  assert.notEqual(digestOf({ key: "a" }), digestOf({ key: null }));
  assert.equal(digestOf(undefined), digestOf(undefined));
});
