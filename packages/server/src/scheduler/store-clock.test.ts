import assert from "node:assert/strict";
import { it } from "node:test";
import type { Logger } from "pino";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import type { Store } from "../ports/store.ts";
import { followStoreClock } from "./store-clock.ts";

it("says once an hour that the machine's clock is far from the store's, and again when that begins anew", async () => {
  const runtime = new ManualRuntime();
  const said: string[] = [];
  const log = { warn: (_fields: object, message: string) => void said.push(message) } as unknown as Logger;
  let offMs = 60_000;
  const store = { clock: async () => runtime.now() - offMs } as unknown as Store;
  const clock = await followStoreClock(store, runtime, log);
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 2_000) {
      await runtime.advance(2_000);
      await new Promise(setImmediate);
    }
  };
  await pass(1_800_000);
  assert.equal(said.filter((text) => text.startsWith("this machine's clock is far")).length, 1);
  await pass(1_900_000);
  assert.equal(said.filter((text) => text.startsWith("this machine's clock is far")).length, 2);
  offMs = 0;
  await pass(20_000);
  offMs = 60_000;
  await pass(20_000);
  assert.equal(said.filter((text) => text.startsWith("this machine's clock is far")).length, 3);
  clock.stop();
});
