import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SESSION_MAX_SEC } from "@mainspring/contract/limits";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import { SessionSeal } from "./session-seal.ts";

const KEY = "msr_0123456789012345678901234567890123456789abcd";

describe("sealed sessions", () => {
  it("give the credential back, and do not show it", () => {
    const seal = new SessionSeal([], new ManualRuntime());
    const session = seal.seal(KEY);
    assert.equal(seal.open(session), KEY);
    assert.doesNotMatch(Buffer.from(session, "base64url").toString("latin1"), /msr_/);
    assert.notEqual(seal.seal(KEY), session);
  });

  it("end after their time", () => {
    let now = 1_000_000;
    const seal = new SessionSeal([], { now: () => now });
    const session = seal.seal(KEY);
    now += SESSION_MAX_SEC * 1_000 - 1;
    assert.equal(seal.open(session), KEY);
    now += 1;
    assert.equal(seal.open(session), null);
  });

  it("open at every node of the cluster, also while its secret changes, and nowhere else", () => {
    const runtime = new ManualRuntime();
    const [former, latter] = ["the-secret-until-today", "the-secret-from-today"];
    const session = new SessionSeal([former], runtime).seal(KEY);
    assert.equal(new SessionSeal([latter, former], runtime).open(session), KEY);
    assert.equal(new SessionSeal([latter], runtime).open(session), null);
    assert.equal(new SessionSeal([], runtime).open(session), null);
  });

  it("open only as they were sealed", () => {
    const seal = new SessionSeal([], new ManualRuntime());
    const bytes = Buffer.from(seal.seal(KEY), "base64url");
    for (let place = 0; place < bytes.length; place++) {
      const changed = Buffer.from(bytes);
      changed[place] = (changed[place] as number) ^ 1;
      assert.equal(seal.open(changed.toString("base64url")), null, `byte ${place}`);
    }
    for (const text of ["", "a", "x".repeat(40), "x".repeat(5_000)]) assert.equal(seal.open(text), null);
  });
});
