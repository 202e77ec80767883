import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { BREAK_AFTER_MS, FORGIVE_AFTER_MS, HEAL_AFTER_MAX_MS, HEAL_AFTER_MS, Links } from "./links.ts";

const EVERY_MS = 200;

describe("a link to another node", () => {
  let links: Links;
  let nowMs = 0;
  beforeEach(() => {
    links = new Links();
    nowMs = 0;
  });
  const look = (isConnected: boolean, isFresh = true) => {
    nowMs += EVERY_MS;
    return links.look(nowMs, [{ incarnation: "b", isConnected, isFresh }]).length === 1;
  };
  /** @returns milliseconds until the link counts as wanted; infinite: not within an hour */
  const until = (counts: boolean, isConnected: boolean) => {
    for (let ms = EVERY_MS; ms < 3_600_000; ms += EVERY_MS) if (look(isConnected) === counts) return ms;
    return Number.POSITIVE_INFINITY;
  };

  it("counts as soon as it is there for the first time, and not before", () => {
    assert.deepEqual([look(false), look(false), look(true)], [false, false, true]);
  });

  it("goes on counting while a connection is renewed, and is broken when that takes too long", () => {
    look(true);
    assert.equal(look(false), true);
    assert.equal(look(true), true);
    assert.equal(until(false, false), BREAK_AFTER_MS + EVERY_MS);
  });

  it("counts again only when it has stood for a while, each time for longer, up to a limit", () => {
    look(true);
    const waits = Array.from({ length: 8 }, () => (until(false, false), until(true, true) - EVERY_MS));
    assert.deepEqual(waits.slice(0, 3), [HEAL_AFTER_MS, 2 * HEAL_AFTER_MS, 4 * HEAL_AFTER_MS]);
    assert.equal(waits.at(-1), HEAL_AFTER_MAX_MS);
  });

  it("starts over where it breaks again before it counts", () => {
    look(true);
    until(false, false);
    for (let ms = 0; ms < HEAL_AFTER_MS - EVERY_MS; ms += EVERY_MS) assert.equal(look(true), false);
    look(false);
    assert.equal(until(true, true) - EVERY_MS, HEAL_AFTER_MS);
  });

  it("is as good as new when it has stood for long", () => {
    look(true);
    until(false, false);
    until(true, true);
    for (let ms = 0; ms < FORGIVE_AFTER_MS; ms += EVERY_MS) look(true);
    until(false, false);
    assert.equal(until(true, true) - EVERY_MS, HEAL_AFTER_MS);
  });

  it("says nothing new of a node that does not renew its lease: it may have died, and others judge that", () => {
    look(true);
    for (let ms = 0; ms < 2 * BREAK_AFTER_MS; ms += EVERY_MS) assert.equal(look(false, false), true);
  });

  it("is as it was when the node comes back, whose lease may have ended with the store: it has time to connect again", () => {
    look(true);
    assert.deepEqual(links.look(nowMs, []), []);
    nowMs += 30_000;
    assert.equal(look(false), true);
    assert.equal(until(false, false), BREAK_AFTER_MS);
    nowMs += 30_000;
    assert.equal(look(true), false, "it was broken before");
  });

  it("is forgotten with a node that is gone for long", () => {
    look(true);
    until(false, false);
    nowMs += FORGIVE_AFTER_MS;
    assert.equal(look(true), true);
  });

  it("changes a bounded number of times, however it flaps", () => {
    let [changes, counted] = [0, look(true)];
    for (let turn = 0; turn < 3_600_000 / EVERY_MS; turn++) {
      const counts = look(turn % 60 < 30);
      if (counts !== counted) changes++;
      counted = counts;
    }
    assert.ok(changes <= 6, `${changes} times within an hour`);
  });
});
