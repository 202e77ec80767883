import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { FEATURE_LEVEL } from "./domain/cluster/feature-level.ts";
import { HandlerPolicies } from "./handler-policies.ts";
import { ManualRuntime, settled } from "./ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "./ports/store.ts";
import type { DeclaredHandler } from "./ports/store-handlers.ts";

const declared = (handler: string, policies = "{}", isNews = true): DeclaredHandler => {
  return { pool: "default", handler, isHome: false, policies, isNews };
};

function stage() {
  const runtime = new ManualRuntime();
  const kept: DeclaredHandler[][] = [];
  const state = { levels: [FEATURE_LEVEL], isAway: false };
  const keep = async (all: readonly DeclaredHandler[]) => {
    if (state.isAway) throw new StoreUnavailable("away");
    kept.push([...all]);
    return true;
  };
  const keeper = new HandlerPolicies({
    store: { handlers: { read: async () => null, keep } },
    leases: { list: async () => state.levels.map((level) => ({ level, isLiving: true })) as never },
    ...{ runtime, log: pino({ level: "silent" }), level: FEATURE_LEVEL },
  });
  return { keeper, runtime, kept, state };
}

describe("the keeper of policies", () => {
  it("looks at the store once a second, however many workers connect", async () => {
    const { keeper, runtime, kept } = stage();
    for (let worker = 0; worker < 10_000; worker++) {
      keeper.keep([declared("a"), declared("b")]);
      if (worker % 100 === 0) await runtime.advance(10);
    }
    await runtime.advance(1_000);
    assert.ok(kept.length <= 3, `${kept.length} looks in 2 s`);
    assert.deepEqual(kept[0], [declared("a"), declared("b")]);
  });

  it("waits until every node knows of policies", async () => {
    const { keeper, runtime, kept, state } = stage();
    state.levels = [FEATURE_LEVEL, FEATURE_LEVEL - 1];
    keeper.keep([declared("a")]);
    await runtime.advance(60_000);
    assert.deepEqual(kept, []);
    state.levels = [FEATURE_LEVEL];
    await runtime.advance(5_000);
    assert.deepEqual(kept, [[declared("a")]]);
  });

  it("tries again when the store did not answer, and lets the word of a worker that starts stand meanwhile", async () => {
    const { keeper, runtime, kept, state } = stage();
    state.isAway = true;
    keeper.keep([declared("a", "{1}"), declared("b", "{1}")]);
    await settled();
    keeper.keep([declared("a", "{2}", false), declared("b", "{2}")]);
    state.isAway = false;
    await runtime.advance(5_000);
    assert.deepEqual(kept, [[declared("a", "{1}"), declared("b", "{2}")]]);
  });

  it("brings what waits to the store at once where it is asked to", async () => {
    const { keeper, runtime, kept } = stage();
    keeper.keep([declared("a")]);
    await settled();
    keeper.keep([declared("b")]);
    await keeper.flush();
    assert.deepEqual(kept, [[declared("a")], [declared("b")]]);
    await keeper.flush();
    await runtime.advance(10_000);
    assert.equal(kept.length, 2);
  });

  it("ends with the node", async () => {
    const { keeper, runtime, kept } = stage();
    await keeper.stop();
    keeper.keep([declared("a")]);
    await runtime.advance(10_000);
    assert.deepEqual(kept, []);
  });
});
