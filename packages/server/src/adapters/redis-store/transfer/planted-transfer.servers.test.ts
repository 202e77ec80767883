import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DURABLE } from "../../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../../tools/services/start-redis.ts";
import { DEFAULT_POLICY } from "../../../domain/job.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import type { MovedExecution, StoreTransfer } from "../../../ports/store-transfer.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { LIBRARY } from "../library.ts";
import { openRedisStore, openRedisTransfer } from "../redis-store.ts";

interface Story {
  store: StoreTransfer;
  address: RedisAddress;
  library: string;
  counters: () => Promise<string>;
  /** Counter of final executions. */
  ends: () => Promise<string>;
}

const runtime = systemRuntime();

function dead(more: Partial<MovedExecution> = {}): MovedExecution {
  const now = runtime.now();
  return {
    ...{ id: runtime.uuid(), jobId: runtime.uuid(), tenant: "default", shard: 3, pool: "default", handler: "echo" },
    ...{ requires: [], priority: 5, concurrencyKey: null, concurrencyLimit: 1, policy: DEFAULT_POLICY, jobVersion: 1 },
    ...{ lane: 7, rank: now, dueAt: now, scheduledAt: now, createdAt: now, updatedAt: now, startedAt: now },
    ...{ finishedAt: now, attemptStartedAt: null, payloadBytes: 0, payload: null, attempt: 5, failures: 5, lost: 0 },
    ...{ state: "DEAD", queue: "NONE", trigger: "API", uniqueKey: null, reason: null, workerId: null, gateway: null },
    ...{ error: null, attempts: [], result: null, retryOf: null, isSettled: false, steps: null, node: null },
    ...{ item: null, branch: null, ...more },
  };
}

async function written(store: StoreTransfer): Promise<MovedExecution[]> {
  const rows: MovedExecution[] = [];
  for await (const portion of store.rows("executions")) rows.push(...portion);
  return rows;
}

const FILLING = { state: "FILLING", other: "elsewhere" } as const;

const BUGS: readonly { title: string; text: string; planted: string; story: (parts: Story) => Promise<void> }[] = [
  {
    title: "a server opens a store with a mark",
    text: "if mark and args[5] ~= 'T' then return",
    planted: "if false then return",
    story: async ({ store, address, library }) => {
      await store.setMark(FILLING);
      const level = 1_000_000;
      const server = openRedisStore({ address, runtime, node: runtime.uuid(), library, level });
      const opened = server.then((one) => one.close());
      await assert.rejects(opened, /is being filled from elsewhere/);
    },
  },
  {
    title: "a settled dead letter is open again",
    text: "(state == DEAD and not one.is_settled)",
    planted: "state == DEAD",
    story: async ({ store }) => {
      await store.setMark(FILLING);
      await store.write("executions", [dead({ isSettled: true })]);
      assert.deepEqual(
        (await written(store)).map(({ isSettled }) => isSettled),
        [true],
      );
    },
  },
  {
    title: "a row that is written again counts twice",
    text: "if not known then stage_execution(p, writes, one) end",
    planted: "stage_execution(p, writes, one)",
    story: async ({ store, counters }) => {
      await store.setMark(FILLING);
      const rows = [dead(), dead({ state: "SUCCEEDED" })];
      await store.write("executions", rows);
      const once = await counters();
      await store.write("executions", rows);
      assert.equal(await counters(), once);
    },
  },
  {
    title: "final executions that are moved are not counted",
    text: "enqueue(writes.queues, id, record, 1)\n    if running.is_node(record) then",
    planted: "if running.is_node(record) then",
    story: async ({ store, ends }) => {
      await store.setMark(FILLING);
      const node = { jobId: runtime.uuid(), node: 2 };
      await store.write("executions", [dead(), dead({ state: "SUCCEEDED" }), dead({ state: "SUCCEEDED", ...node })]);
      assert.equal(await ends(), "2");
    },
  },
  {
    title: "an epoch is not above that of the source",
    text: "digits(math.max(known + 1, tonumber(epoch) + 1, now))",
    planted: "digits(math.max(known + 1, now))",
    story: async ({ store }) => {
      const above = Array.from({ length: 64 }, () => 2 ** 52);
      await store.raiseEpochs(above);
      assert.ok((await store.epochs()).every((epoch) => epoch > 2 ** 52));
    },
  },
];

describe("bugs in the functions of a transfer", () => {
  let redis: TestRedis;
  let stores = 0;
  before(async () => {
    redis = await startRedis({ settings: DURABLE });
  });
  after(() => redis?.stop());

  const told = async (library: string, story: (parts: Story) => Promise<void>) => {
    const address = { ...(redisAddress(redis.url) as RedisAddress), prefix: `planted-${stores++}` };
    const log = { error: () => undefined };
    const store = await openRedisTransfer({ address, runtime, node: runtime.uuid(), library, log });
    const ends = async () => String(await redis.ask("GET", `${address.prefix}:hn`));
    const counters = async () => `${await redis.ask("HVALS", `${address.prefix}:n`)} ${await ends()}`;
    try {
      await story({ store, address, library, counters, ends });
    } finally {
      await store.close();
    }
  };

  for (const { title, text, planted, story } of BUGS)
    it(`${title}: its story fails, and passes without it`, async () => {
      assert.equal(LIBRARY.split(text).length, 2, "the library has the text once");
      await told(LIBRARY, story);
      await assert.rejects(told(LIBRARY.replace(text, planted), story), assert.AssertionError);
    });
});
