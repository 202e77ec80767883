import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { runtimeConformance } from "../../ports/runtime.conformance.ts";
import { systemRuntime, uuidSource } from "./system-runtime.ts";

runtimeConformance("system", systemRuntime(), (ms) => pause(ms));

it("goes on growing when the clock is set back, and when many ids are made in one millisecond", () => {
  let now = 1_700_000_000_000;
  const next = uuidSource(() => now);
  const ids = Array.from({ length: 9_000 }, (_, index) => {
    if (index === 5_000) now -= 60_000;
    return next();
  });
  assert.deepEqual([...ids].sort(), ids);
});
