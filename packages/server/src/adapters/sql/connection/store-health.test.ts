import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualRuntime } from "../../../ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "../../../ports/store.ts";
import { StoreHealth } from "./store-health.ts";

describe("PostgreSQL that says nothing", () => {
  const scene = () => {
    const runtime = new ManualRuntime();
    return { runtime, health: new StoreHealth(runtime) };
  };
  const never = () => new Promise<never>(() => undefined);
  const isUnavailable = (isUnasked: boolean) => (error: unknown) =>
    error instanceof StoreUnavailable && error.isUnasked === isUnasked;

  it("is waited for by people for three seconds, and then not even asked", async () => {
    const { runtime, health } = scene();
    const asked = assert.rejects(health.watchForClient(never), isUnavailable(false));
    await runtime.advance(3_000);
    await asked;
    await assert.rejects(health.watchForClient(never), isUnavailable(true));
  });

  it("is asked again as soon as it has said anything to anybody", async () => {
    const { runtime, health } = scene();
    void health.watch(never);
    await runtime.advance(5_000);
    await assert.rejects(health.watchForClient(never), isUnavailable(true));
    health.heard();
    assert.equal(await health.watchForClient(async () => "again"), "again");
  });

  it("is waited for as long as it answers others", async () => {
    const { runtime, health } = scene();
    const slow = Promise.withResolvers<string>();
    const asked = health.watchForClient(() => slow.promise);
    for (let second = 0; second < 9; second++) {
      await runtime.advance(1_000);
      health.heard();
    }
    slow.resolve("at last");
    assert.equal(await asked, "at last");
  });

  it("is somebody's turn to ask where nobody waits for it any more", async () => {
    const { runtime, health } = scene();
    await assert.rejects(
      health.watch(() => Promise.reject(new Error("no answer in time"))),
      /in time/,
    );
    await runtime.advance(60_000);
    assert.equal(await health.watchForClient(async () => "here"), "here");
  });
});
