import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { busKeys, headersOf, isSigned } from "./bus-envelope.ts";

describe("signatures of records", () => {
  const envelope = { from: "a", to: "b", topic: "ms.job-results", packet: Buffer.from("packet") };
  const [ours, theirs] = [busKeys(["secret-1"], ["key"]), busKeys(["secret-2"], [])];

  it("are believed from a node with one of the same secrets", () => {
    const both = busKeys(["secret-2", "secret-1"], []);
    const of = (keys: typeof ours) => headersOf(keys, envelope).signatures ?? "";
    assert.equal(isSigned(ours, envelope, of(ours)), true);
    assert.equal(isSigned(ours, envelope, of(both)), true);
    assert.equal(isSigned(both, envelope, of(theirs)), true);
    assert.equal(isSigned(ours, envelope, of(theirs)), false);
    for (const text of ["", ",", "AAAA", `${",".repeat(9)}${of(ours)}`])
      assert.equal(isSigned(ours, envelope, text), false);
  });

  it("belong to one sender, one receiver, one topic and one packet", () => {
    const { signatures = "" } = headersOf(ours, envelope);
    for (const other of [
      { from: "c" },
      { to: "c" },
      { topic: "ms.job-assignments" },
      { packet: Buffer.from("packed") },
    ])
      assert.equal(isSigned(ours, { ...envelope, ...other }, signatures), false);
  });

  it("are made with API keys where there is no secret, and not at all without these", () => {
    assert.deepEqual(busKeys([], ["key"]), { signedWith: "API_KEY", keys: ["key"] });
    const none = busKeys([], []);
    assert.equal(none.signedWith, "NOTHING");
    assert.equal(isSigned(none, envelope, headersOf(none, envelope).signatures ?? ""), true);
    assert.equal(ours.signedWith, "SECRET");
  });
});
