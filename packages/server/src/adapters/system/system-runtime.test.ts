import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { runtimeConformance } from "../../ports/conformance/runtime.conformance.ts";
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

it("makes ids of version 7 that tell their millisecond, random in every other digit", () => {
  const now = 1_700_000_000_000;
  const next = uuidSource(() => now);
  const ids = Array.from({ length: 4_000 }, next);
  for (const id of ids) assert.match(id, /^018bcfe5-680[0-9a-f]-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const digits = (place: number) => new Set(ids.map((id) => id[place])).size;
  assert.equal(digits(19), 4);
  for (const place of [20, 21, 22, ...Array.from({ length: 12 }, (_, n) => 24 + n)]) assert.equal(digits(place), 16);
});
