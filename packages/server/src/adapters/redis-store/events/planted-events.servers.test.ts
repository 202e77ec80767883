import assert from "node:assert/strict";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../../../domain/lifecycle-event.ts";
import { type EndDelivery, endDelivery } from "../../../domain/webhook.ts";
import { ALL_SHARDS, type Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { EventPosition } from "../../../ports/store-events.ts";
import type { DeliveryResult, DueDelivery } from "../../../ports/store-webhooks.ts";
import { type PlantedBug, plantedBugs } from "../testing/planted-bug.ts";

const START: EventPosition = new Map();
const DAY_MS = 86_400_000;
const SHARD = 5;

function ended(scene: Scene, { executionId, jobId }: NewJob): EndDelivery["event"] {
  const at = Math.floor(scene.runtime.now());
  const event = {
    ...NO_EVENT_FIELDS,
    kind: "JobCompleted" as const,
    at,
    executionId,
    jobId,
    state: "SUCCEEDED" as const,
  };
  return { ...event, tenant: TENANT, pool: "default", handler: "echo", attempt: 1, jobVersion: 1 };
}

function told(seq: number, ...events: LifecycleEvent[]) {
  return { told: { seq, events, inbox: [] } };
}

/** Commits one entry of events. */
async function tell(scene: Scene, seq: number): Promise<void> {
  const job = await scene.submitted({ shard: SHARD });
  await scene.applied(SHARD, { changes: [scene.succeeded(job)], ...told(seq, ended(scene, job)) });
}

async function due(scene: Scene): Promise<DueDelivery[]> {
  const now = scene.runtime.now() + 1_000;
  const asked = { shards: ALL_SHARDS, now, after: null, webhooks: 10, each: 10, without: new Set([]) };
  return (await scene.store.webhooks.readDue(asked)).due;
}

async function delivering(scene: Scene): Promise<DueDelivery> {
  const job = await scene.submitted({ shard: SHARD });
  const deliveries = [endDelivery({ url: "https://a.example/" }, ended(scene, job))];
  await scene.applied(SHARD, { changes: [scene.succeeded(job)], deliveries });
  return (await due(scene))[0] as DueDelivery;
}

function failed(delivery: DueDelivery): DeliveryResult {
  return { delivery, state: "FAILED", nextAt: null, status: 500, error: "no", isGone: false };
}

const BUGS: readonly PlantedBug[] = [
  {
    title: "an entry counts the events of rows that the commit misses",
    text: "local missed = table.concat(asked.missed or {}) ..",
    planted: "local missed =",
    story: async (scene) => {
      const job = await scene.submitted({ shard: SHARD });
      const changes = [scene.succeeded(job, { wasAttempt: 3, attempt: 4 })];
      await scene.store.commit([scene.tick(SHARD, { changes, ...told(1, ended(scene, job)) })]);
      const rows = await scene.store.events.read(START, 10);
      assert.deepEqual(rows?.flatMap(({ events }) => events) ?? null, []);
    },
  },
  {
    title: "a commit whose events are numbered backwards is written in part",
    text: "if not is_before(told.last, told.id) then",
    planted: "if false then",
    story: async (scene) => {
      await tell(scene, 7);
      const job = await scene.submitted({ shard: SHARD });
      const tick = scene.tick(SHARD, { changes: [scene.succeeded(job)], ...told(7, ended(scene, job)) });
      await assert.rejects(scene.store.commit([tick]));
      assert.equal((await scene.store.load([job.executionId])).length, 1, "nothing was written");
    },
  },
  {
    title: "upkeep removes entries that a sink does not have",
    text: "if is_before(sink.ref, entry[1]) then is_over = false end",
    planted: "",
    story: async (scene) => {
      const { store, runtime } = scene;
      await store.eventSinks.sinkPositions("kafka", [SHARD]);
      await tell(scene, 1);
      await store.maintain(runtime.now() + 7_200_000, { days: 30, deadDays: 90, eventSinks: ["kafka"] });
      assert.equal((await store.events.read(START, 10))?.length, 1);
    },
  },
  {
    title: "a reader behind removed entries does not learn of it",
    text: "if known[args[i]] and is_before(args[i + 1], known[args[i]]) then return false end",
    planted: "",
    story: async (scene) => {
      await tell(scene, 1);
      await scene.store.eventSinks.dropEvents(await scene.store.events.newest());
      assert.equal(await scene.store.events.read(START, 10), null);
    },
  },
  {
    title: "the position of a sink goes back",
    text: "if known and is_before(known.ref, args[i + 1]) then",
    planted: "if known then",
    story: async (scene) => {
      const { eventSinks } = scene.store;
      await eventSinks.sinkPositions("kafka", [SHARD]);
      for (const seq of [4, 3]) await eventSinks.advanceSink("kafka", new Map([[SHARD, { epoch: 7, seq }]]));
      assert.deepEqual((await eventSinks.sinkPositions("kafka", [SHARD])).get(SHARD), { epoch: 7, seq: 4 });
    },
  },
  {
    title: "the delivery of a row that the commit misses is kept",
    text: "ended[id] = nil",
    planted: "",
    story: async (scene) => {
      const job = await scene.submitted({ shard: SHARD });
      const changes = [scene.succeeded(job, { wasAttempt: 3, attempt: 4 })];
      const deliveries = [endDelivery({ url: "https://a.example/" }, ended(scene, job))];
      await scene.store.commit([scene.tick(SHARD, { changes, deliveries })]);
      assert.deepEqual(await due(scene), []);
    },
  },
  {
    title: "the result of a try counts twice",
    text: "if not state or state.code ~= 'P' or state.tries ~= result.tries then return end",
    planted: "if not state then return end",
    story: async (scene) => {
      const delivery = await delivering(scene);
      const now = scene.runtime.now();
      const delivered: DeliveryResult = { ...failed(delivery), state: "DELIVERED", status: 204, error: null };
      for (const result of [delivered, failed(delivery)]) await scene.store.webhooks.settle([result], now, DAY_MS);
      const page = { state: null, before: null, limit: 10 };
      const [kept] = await scene.store.webhooks.deliveries(TENANT, delivery.webhook, page);
      assert.deepEqual([kept?.state, kept?.tries], ["DELIVERED", 1]);
    },
  },
  {
    title: "results of two nodes about one webhook overwrite each other",
    text: "if (call('HGET', p .. 'wk', args[i]) or '') ~= args[i + 2] then return 0 end",
    planted: "",
    story: async (scene) => {
      const { webhooks } = scene.store;
      const delivery = await delivering(scene);
      await webhooks.settle([failed(delivery)], 1_000, DAY_MS);
      // Both calls read the webhook before one of them writes it.
      const delivered: DeliveryResult = { ...failed(delivery), state: "DELIVERED", status: 204, error: null };
      await Promise.all([
        webhooks.settle([delivered], 2_000, DAY_MS),
        webhooks.settle([failed(delivery)], 3_000, DAY_MS),
      ]);
      const found = await webhooks.get(TENANT, delivery.webhook);
      assert.deepEqual([found?.lastDeliveredAt, found?.failingSince], [2_000, 3_000]);
    },
  },
];

plantedBugs("planted bugs in the functions for events and webhooks", BUGS);
