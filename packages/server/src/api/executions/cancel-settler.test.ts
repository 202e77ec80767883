import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { pino } from "pino";
import { IndexData } from "../../adapters/simulated/sim-index.ts";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { IndexUnavailable, type SideIndex } from "../../ports/side-index.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import { startTestApi, storesWith, type TestApi } from "../api.fixture.ts";
import { CancelSettler } from "./cancel-settler.ts";

/** Settler with a store that has the executions of the map, in these states. */
function scene(states: Map<string, ExecutionView["state"]>) {
  const runtime = new ManualRuntime();
  const data = new IndexData(runtime.now);
  const { cancels } = data.index(async (run) => run());
  const store = { isAway: true };
  const given: Command[] = [];
  const answering = () => {
    if (store.isAway) throw new StoreUnavailable("away");
  };
  const settler = new CancelSettler({
    ...{ cancels, runtime, log: pino({ level: "silent" }) },
    stores: storesWith({
      getExecution: async (_, executionId) => {
        answering();
        const state = states.get(executionId);
        return state === undefined ? null : ({ executionId, state, shard: 7 } as ExecutionView);
      },
    }),
    commands: {
      leave: async (command) => {
        answering();
        given.push(command);
      },
    },
  });
  settler.start();
  const later = (ms: number) => runtime.advance(ms);
  const told = () =>
    given.map(({ kind, shard, ...command }) => [kind, shard, "executionId" in command && command.executionId]);
  return { runtime, data, cancels, store, settler, later, told };
}

describe("cancellations of the set", () => {
  it("become commands when the store answers, and leave the set only then", async () => {
    const { runtime, data, cancels, store, later, told } = scene(
      new Map([
        ["a", "RUNNING"],
        ["b", "PENDING"],
        ["c", "SUCCEEDED"],
      ]),
    );
    for (const id of ["a", "b", "c"]) await cancels.add(id, runtime.now());
    await later(30_000);
    assert.deepEqual([told(), data.cancels.size], [[], 3]);
    store.isAway = false;
    await later(3_000);
    assert.deepEqual(
      [told(), data.cancels.size],
      [
        [
          ["CANCEL", 7, "a"],
          ["CANCEL", 7, "b"],
        ],
        0,
      ],
    );
    await later(10_000);
    assert.equal(told().length, 2);
  });

  it("wait a minute for an execution that the store does not have yet", async () => {
    const states = new Map<string, ExecutionView["state"]>();
    const { runtime, data, cancels, store, later, told } = scene(states);
    store.isAway = false;
    await cancels.add("late", runtime.now());
    await cancels.add("never", runtime.now());
    await later(30_000);
    assert.equal(data.cancels.size, 2);
    states.set("late", "PENDING");
    await later(3_000);
    assert.deepEqual([told(), [...data.cancels.keys()]], [[["CANCEL", 7, "late"]], ["never"]]);
    await later(40_000);
    assert.equal(data.cancels.size, 0);
  });

  it("are too old after a day", async () => {
    const { runtime, data, cancels, store, later, told } = scene(new Map([["a", "RUNNING"]]));
    await cancels.add("a", runtime.now() - 24 * 3_600_000 - 1);
    store.isAway = false;
    await later(3_000);
    assert.deepEqual([told(), data.cancels.size], [[], 0]);
  });

  it("end with the api", async () => {
    const { runtime, data, cancels, store, settler, later } = scene(new Map([["a", "RUNNING"]]));
    settler.stop();
    store.isAway = false;
    await cancels.add("a", runtime.now());
    await later(10_000);
    assert.equal(data.cancels.size, 1);
  });
});

describe("cancelling while the store does not answer", () => {
  let api: TestApi;
  const redis = { isAway: false };
  const data = new IndexData(() => 1_000);
  const index: SideIndex = data.index(async (run) => {
    if (redis.isAway) throw new IndexUnavailable("away");
    return run();
  });
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.stop());

  it("is taken into the set with durable: false; without one it fails, as it does if Redis is away or the set is full", async () => {
    const withIndex = await api.another({ apiKey: null }, undefined, { index });
    const cancel = (app: Pick<TestApi["app"], "inject">, id: string) =>
      app.inject({ method: "POST", url: `/v1/executions/${id}/cancel` });
    const id = "01976e5f-5c00-7000-8000-0000000000AB";
    assert.equal((await cancel(withIndex, id)).statusCode, 404, "the store answers");
    await api.loseStore();
    assert.equal((await cancel(api.app, id)).statusCode, 503);
    const taken = await cancel(withIndex, id);
    assert.equal(taken.statusCode, 202);
    const executionId = id.toLowerCase();
    assert.deepEqual(taken.json(), { executionId, state: null, cancelRequested: true, durable: false });
    assert.deepEqual([...data.cancels.keys()], [executionId]);
    assert.equal((await cancel(withIndex, "no-id")).statusCode, 400);
    redis.isAway = true;
    assert.equal((await cancel(withIndex, id)).statusCode, 503);
    redis.isAway = false;
    for (let n = data.cancels.size; n < 10_000; n++) await index.cancels.add(`full-${n}`, systemRuntime().now());
    assert.equal((await cancel(withIndex, id.replace("AB", "ac"))).statusCode, 503);
    assert.equal((await cancel(withIndex, id)).statusCode, 202, "it is there already");
    await withIndex.close();
  });
});
