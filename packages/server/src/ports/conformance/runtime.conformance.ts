import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Runtime } from "../runtime.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Behaviour of every runtime. @param pass lets this much of the runtime's time pass */
export function runtimeConformance(name: string, runtime: Runtime, pass: (ms: number) => Promise<void>): void {
  describe(`runtime: ${name}`, () => {
    it("tells whole milliseconds, and a time that never steps back", async () => {
      assert.ok(Number.isInteger(runtime.now()));
      const before = runtime.monotonicMs();
      await pass(5);
      assert.ok(runtime.monotonicMs() - before >= 4);
    });

    it("runs a timer once, not before its time, and never when it was cancelled", async () => {
      const ran: string[] = [];
      const began = runtime.monotonicMs();
      let tookMs = 0;
      runtime.setTimer(10, () => {
        ran.push("first");
        tookMs = runtime.monotonicMs() - began;
      });
      const second = runtime.setTimer(10, () => ran.push("second"));
      second.cancel();
      second.cancel();
      await pass(40);
      assert.deepEqual(ran, ["first"]);
      assert.ok(tookMs >= 9);
    });

    it("keeps a timer of a far year waiting", async () => {
      const ran: string[] = [];
      const far = [2 ** 31, 2 ** 45, Number.POSITIVE_INFINITY];
      const timers = far.map((delayMs) => runtime.setTimer(delayMs, () => ran.push(`${delayMs}`)));
      await pass(20);
      for (const timer of timers) timer.cancel();
      assert.deepEqual(ran, []);
    });

    it("draws random numbers in [0, 1)", () => {
      const rolls = Array.from({ length: 1_000 }, () => runtime.random());
      assert.ok(rolls.every((roll) => roll >= 0 && roll < 1));
      assert.ok(new Set(rolls).size > 900);
    });

    it("makes UUIDv7s that grow, with the time in front", () => {
      const ids = Array.from({ length: 10_000 }, () => runtime.uuid());
      assert.ok(ids.every((id) => UUID_V7.test(id)));
      assert.deepEqual([...ids].sort(), ids);
      assert.equal(new Set(ids).size, ids.length);
      const time = Number.parseInt((ids[0] ?? "").replace("-", "").slice(0, 12), 16);
      assert.ok(Math.abs(time - runtime.now()) < 10_000);
    });
  });
}
