import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ahead } from "./ahead.ts";

/** A worker that ends an attempt each millisecond. @returns the time of the last end */
function endEachMs(ahead: Ahead, { fromMs = 0, count = 100, runMs = 1 } = {}): number {
  for (let i = 0; i < count; i++) ahead.ended(runMs, fromMs + i);
  return fromMs + count - 1;
}

describe("work ahead of free slots", () => {
  it("is none until a rate is measured", () => {
    const ahead = new Ahead();
    assert.equal(ahead.allowed(0), 0);
    ahead.ended(1, 0);
    assert.equal(ahead.allowed(0), 0);
  });

  it("is as much as the worker ends in 50 ms", () => {
    const ahead = new Ahead();
    const nowMs = endEachMs(ahead);
    assert.equal(ahead.allowed(nowMs), 50);
  });

  it("follows the rate within some measurements", () => {
    const ahead = new Ahead();
    endEachMs(ahead);
    let nowMs = 200;
    for (let i = 0; i < 1_000; i++) ahead.ended(1, (nowMs = 200 + i / 10));
    const allowed = ahead.allowed(nowMs);
    assert.ok(allowed > 450 && allowed <= 510, String(allowed));
  });

  it("is none where handlers take 50 ms or longer, however many slots the worker has", () => {
    const ahead = new Ahead();
    assert.equal(ahead.allowed(endEachMs(ahead, { runMs: 51 })), 0);
  });

  it("is none soon after quick handlers were followed by slow ones", () => {
    const ahead = new Ahead();
    const nowMs = endEachMs(ahead);
    ahead.ended(2_000, nowMs + 1);
    assert.equal(ahead.allowed(nowMs + 1), 0);
  });

  it("is none when no attempt has ended for a while, and is measured anew then", () => {
    const ahead = new Ahead();
    const nowMs = endEachMs(ahead);
    assert.equal(ahead.allowed(nowMs + 100), 50);
    assert.equal(ahead.allowed(nowMs + 101), 0);
    // The pause does not count as a slow rate.
    assert.equal(ahead.allowed(endEachMs(ahead, { fromMs: 10_000 })), 50);
  });

  it("is bounded", () => {
    const ahead = new Ahead();
    for (let i = 0; i < 100_000; i++) ahead.ended(0, i / 1_000);
    assert.equal(ahead.allowed(100), 4_000);
  });

  it("is none after a reset, until a rate is measured", () => {
    const ahead = new Ahead();
    const nowMs = endEachMs(ahead);
    ahead.reset();
    assert.equal(ahead.allowed(nowMs), 0);
    ahead.ended(1, nowMs + 1);
    assert.equal(ahead.allowed(nowMs + 1), 0);
    assert.equal(ahead.allowed(endEachMs(ahead, { fromMs: nowMs + 2 })), 50);
  });
});
