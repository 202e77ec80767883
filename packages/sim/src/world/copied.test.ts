import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { copied } from "./copied.ts";

describe("a message that is copied for another process", () => {
  it("is the same, and shares nothing that could be changed", () => {
    const message = { kind: "A", list: [{ deep: [1, null] }], bytes: new Uint8Array([1, 2]), nothing: undefined };
    const copy = copied(message);
    assert.deepEqual(copy, message);
    message.list[0]?.deep.push(2);
    message.bytes[0] = 9;
    assert.deepEqual(copy, { ...message, list: [{ deep: [1, null] }], bytes: new Uint8Array([1, 2]) });
  });
});
