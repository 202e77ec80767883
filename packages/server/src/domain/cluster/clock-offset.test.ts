import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { ClockOffset } from "./clock-offset.ts";

const sample = (askedAtMs: number, rttMs: number, shownMs: number) => ({
  askedAtMs,
  answeredAtMs: askedAtMs + rttMs,
  shownMs,
});

it("is never ahead of the other clock, whatever the answers' delays", () => {
  const answers = fc.record({ gapMs: fc.nat(60_000), thereMs: fc.nat(500), backMs: fc.nat(500) });
  fc.assert(
    fc.property(fc.array(answers, { minLength: 1 }), fc.integer({ min: -100, max: 100 }), (list, ppm) => {
      const other = (monotonicMs: number) => 1_700_000_000_000 + monotonicMs * (1 + ppm / 1e6);
      const clock = new ClockOffset();
      let at = 0;
      for (const { gapMs, thereMs, backMs } of list) {
        at += gapMs;
        clock.add(sample(at, thereMs + backMs, other(at + thereMs)));
        at += thereMs + backMs;
        assert.ok((clock.earliest(at) ?? 0) <= other(at));
      }
    }),
  );
});

it("narrows to the best answer it had", () => {
  const clock = new ClockOffset();
  clock.add(sample(0, 400, 1_000_200));
  assert.equal(clock.earliest(400), 1_000_200);
  clock.add(sample(1_000, 2, 1_001_001));
  assert.equal(clock.earliest(1_002), 1_001_001);
});

it("believes a step back at once, a small step too, and a leap forward when it has seen it three times", () => {
  const clock = new ClockOffset();
  clock.add(sample(0, 0, 1_000_000));
  clock.add(sample(10, 0, 900_010));
  assert.equal(clock.earliest(10), 900_010);
  clock.add(sample(20, 0, 900_520));
  assert.equal(clock.earliest(20), 900_520);
  assert.deepEqual(
    [30, 40, 50].map((at) => clock.add(sample(at, 0, 5_000_000 + at)).isBelieved),
    [false, false, true],
  );
  assert.equal(clock.earliest(50), 5_000_050);
});

it("tells how far the clock was set: by as much as its own reading moves", () => {
  const clock = new ClockOffset();
  assert.equal(clock.add(sample(0, 0, 1_000_000)).leapMs, 0);
  assert.equal(clock.add(sample(10, 4, 1_000_012)).leapMs, 0);
  for (const setToMs of [500_000, 9_000_000]) {
    let leapMs = 0;
    const before = clock.earliest(1_000) ?? 0;
    for (let seen = 0; seen < 3 && leapMs === 0; seen++) leapMs = clock.add(sample(1_000, 0, setToMs)).leapMs;
    assert.ok(Math.abs((clock.earliest(1_000) ?? 0) - before - leapMs) <= 1, `${leapMs}`);
  }
  assert.equal(clock.add(sample(1_010, 0, 9_000_010)).leapMs, 0);
});
