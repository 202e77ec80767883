import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualClock } from "./virtual-clock.ts";

/** @returns events in the order in which they happen, where each event settles promises and plans another event */
async function told(clock: VirtualClock): Promise<string[]> {
  const seen: string[] = [];
  const event = async (name: string, left: number) => {
    seen.push(`${name} at ${clock.nowMs}`);
    if (left > 0) clock.plan(left, () => void event(name, left - 1));
    for (let i = 0; i < 3; i++) await Promise.resolve();
    await new Promise<void>((resolve) => process.nextTick(resolve));
    seen.push(`${name} over at ${clock.nowMs}`);
  };
  for (const name of ["a", "b", "c"]) clock.plan(1, () => void event(name, 3));
  await clock.runUntil(2, () => seen.push("-"));
  await clock.runUntil(9, () => seen.push("-"));
  return seen;
}

describe("the virtual clock", () => {
  it("lets an event work itself out before the next one, however many come in a turn of the loop", async () => {
    const one = await told(new VirtualClock(1));
    assert.deepEqual(one.slice(0, 6), ["a at 1", "a over at 1", "-", "b at 1", "b over at 1", "-"]);
    assert.equal(one.length, 3 * 4 * 3);
    assert.deepEqual(await told(new VirtualClock(5)), one);
    assert.deepEqual(await told(new VirtualClock(256)), one);
  });

  it("goes on where an event begins another run while the first one waits", async () => {
    for (const batch of [1, 2]) {
      const clock = new VirtualClock(batch);
      const inner: Promise<void>[] = [];
      clock.plan(0, () => inner.push(clock.runUntil(0)));
      clock.plan(0, () => undefined);
      clock.plan(0, () => undefined);
      await clock.runUntil(0);
      await Promise.all(inner);
      assert.deepEqual([clock.ran, clock.nextMs], [3, null]);
    }
  });

  it("fails where an event does", async () => {
    const clock = new VirtualClock(5);
    clock.plan(1, () => {
      throw new Error("as asked");
    });
    await assert.rejects(clock.runUntil(2), /as asked/);
  });
});
