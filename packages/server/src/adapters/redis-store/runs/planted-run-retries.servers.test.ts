import assert from "node:assert/strict";
import {
  birth,
  newNode,
  nodeEnds,
  nodeId,
  type OpenWorkflow,
  runEnds,
  started,
} from "../../../ports/conformance/runs-scene.conformance.ts";
import type { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewPart, NewRetry } from "../../../ports/store-runs.ts";
import { type PlantedBug, plantedBugs } from "../testing/planted-bug.ts";

const DAY_MS = 86_400_000;
const PAGE = { after: null, limit: 10 };
const IDEMPOTENCY = { tenant: TENANT, key: "k", requestHash: "h" };

/** A DEAD run whose node 0 has SUCCEEDED, and has added two nodes if `spawn` is set. */
async function failed(scene: Scene, sample: Parameters<typeof started>[1] & { spawn?: true } = {}) {
  const { spawn, ...rest } = sample;
  const asked = await started(scene, rest);
  const { executionId: run } = asked;
  const bytes = Buffer.from("graph");
  const part: NewPart = { run, spawner: 0, first: 4, nodes: 2, graph: bytes, definitions: bytes, payloads: [] };
  const first = nodeEnds(scene, asked, 0, spawn ? { spawn: part } : {});
  await scene.applied(asked.shard, { changes: [first, nodeEnds(scene, asked, 1, { state: "DEAD" })] });
  await scene.applied(asked.shard, { changes: [runEnds(scene, asked, { state: "DEAD" })] });
  return asked;
}

/** A retry that keeps the node 0. */
function retryOf(scene: Scene, former: OpenWorkflow, more: Partial<NewRetry> = {}): NewRetry & { deadline: number } {
  const { nodes: _, graph: __, definitions: ___, payloads, output: ____, ...job } = former;
  const own = { ...job, executionId: scene.runtime.uuid(), createdAt: scene.runtime.now() };
  return {
    ...{ ...own, jobVersion: 1, retryOf: former.executionId, roots: [newNode(scene, { ...own, payloads }, 1)] },
    ...{ kept: [{ run: former.executionId, nodes: [[0, null]] }], mapCounts: [], parts: [], idempotency: null },
    ...more,
    deadline: own.deadline,
  };
}

async function maintained(scene: Scene, days: number): Promise<void> {
  await scene.store.maintain(scene.runtime.now() + days * DAY_MS, { days: 30, deadDays: 90 });
}

async function nodesOf(scene: Scene, { executionId }: { executionId: string }): Promise<number> {
  return (await scene.store.queries.listNodes(TENANT, executionId, {}, PAGE)).items.length;
}

const BUGS: readonly PlantedBug[] = [
  {
    title: "a run is replayed as a dead letter",
    text: "if letter.record == 'W' then return 'W' end",
    planted: "if letter.record == 'W' then return 'S' end",
    story: async (scene) => {
      const { executionId } = await failed(scene);
      const asked = { tenant: TENANT, executionIds: [executionId], newIds: [scene.runtime.uuid()], at: 5 };
      const outcome = await scene.store.deadLetters.settle({ ...asked, action: "REPLAY" }).catch(() => []);
      assert.deepEqual(
        outcome.map((letter) => letter.outcome),
        ["OF_WORKFLOW"],
      );
    },
  },
  {
    title: "two retries of a run go beside each other",
    text: "if byte(job, 1) < 128 then return #open_of(p, job) > 0 end",
    planted: "",
    story: async (scene) => {
      const former = await failed(scene);
      const outcomes = await Promise.all([1, 2].map(() => scene.store.runs.retry(retryOf(scene, former))));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ["ACCEPTED", "NOT_FINAL"]);
    },
  },
  {
    title: "a retry takes a unique key that another run has",
    text: "return holder and 'H' .. holder or nil",
    planted: "return nil",
    story: async (scene) => {
      const former = await failed(scene, { uniqueKey: "u" });
      await started(scene, { uniqueKey: "u" });
      assert.equal((await scene.store.runs.retry(retryOf(scene, former))).kind, "KEY_HELD");
    },
  },
  {
    title: "a retry is repeated although the first one has ended",
    text: "local known = answered(p, asked) or refusal(p, asked)",
    planted: "local known = refusal(p, asked)",
    story: async (scene) => {
      const former = await failed(scene);
      const first = retryOf(scene, former, { idempotency: IDEMPOTENCY });
      await scene.store.runs.retry(first);
      await scene.applied(first.shard, { changes: [runEnds(scene, { ...former, ...first }, { state: "CANCELLED" })] });
      const again = await scene.store.runs.retry(retryOf(scene, former, { idempotency: IDEMPOTENCY }));
      assert.deepEqual(again, { kind: "ACCEPTED", executionId: first.executionId, replayed: true });
    },
  },
  {
    title: "a retry keeps nodes of a run that is gone",
    text: "if call('EXISTS', p .. 'e' .. base) == 0 then return 'G' .. base end",
    planted: "",
    story: async (scene) => {
      const run = scene.runtime.uuid();
      // A run without kept nodes is not looked at before the call.
      const asked = retryOf(scene, await failed(scene), { kept: [{ run, nodes: [] }] });
      assert.deepEqual(await scene.store.runs.retry(asked), { kind: "RESULTS_GONE", run });
    },
  },
  {
    title: "a retry takes the id of another run",
    text: "if call('EXISTS', p .. 'e' .. asked.id) == 1 or running.has_root(p, asked.roots) then",
    planted: "if false then",
    story: async (scene) => {
      const { executionId } = await started(scene);
      await assert.rejects(scene.store.runs.retry(retryOf(scene, await failed(scene), { executionId })));
    },
  },
  {
    title: "a run that was retried stays a dead letter",
    text: "recurring.settle(p, asked.former)",
    planted: "",
    story: async (scene) => {
      await scene.store.runs.retry(retryOf(scene, await failed(scene)));
      assert.equal((await scene.store.queries.countExecutions(TENANT, 10)).deadLetters, 0);
    },
  },
  {
    title: "upkeep removes the parts that a retry keeps",
    text: "keep_bodies(p, asked.parts)",
    planted: "",
    story: async (scene) => {
      const asked = retryOf(scene, await failed(scene, { spawn: true }), { parts: [4] });
      await scene.store.runs.retry(asked);
      await maintained(scene, 1);
      const view = await scene.store.queries.getRun(TENANT, asked.executionId);
      assert.equal(view?.parts[0]?.nodes, 2);
    },
  },
  {
    title: "upkeep removes a run from which an open one keeps nodes",
    text: "and not (running.is_run(record) and running.is_needed(p, id))",
    planted: "",
    story: async (scene) => {
      const former = await failed(scene);
      await scene.store.runs.retry(retryOf(scene, former));
      await maintained(scene, 91);
      assert.equal(await nodesOf(scene, former), 2);
    },
  },
  {
    title: "a run stays for a retry that is final",
    text: "if record and byte(record, 7) ~= 0 then needed = true",
    planted: "if record then needed = true",
    story: async (scene) => {
      const former = await failed(scene);
      const asked = retryOf(scene, former);
      await scene.store.runs.retry(asked);
      const finishedAt = scene.runtime.now() + 90 * DAY_MS;
      await scene.applied(asked.shard, { changes: [runEnds(scene, { ...former, ...asked }, { finishedAt })] });
      await maintained(scene, 91);
      assert.equal(await nodesOf(scene, former), 0);
    },
  },
  {
    title: "the nodes of a run stay behind it",
    text: "if running.is_run(record) then running.remove(p, id, record, tenant) end",
    planted: "",
    story: async (scene) => {
      const former = await failed(scene);
      await maintained(scene, 91);
      assert.equal(await nodesOf(scene, former), 0);
    },
  },
  {
    title: "upkeep forgets a run with more nodes than one call removes",
    text: "if left <= 0 then break end",
    planted: "",
    story: async (scene) => {
      const asked = await started(scene);
      const items = Array.from({ length: 500 }, (_, item) => birth(scene, asked, 3, [], { item }));
      await scene.applied(asked.shard, { births: items });
      await scene.applied(asked.shard, { changes: [runEnds(scene, asked)] });
      await maintained(scene, 31);
      assert.equal(await nodesOf(scene, asked), 0);
    },
  },
  {
    title: "a node that upkeep removes stays in its queue",
    text: "enqueue(removal.queues, id, record, -1)",
    planted: "",
    story: async (scene) => {
      const asked = await started(scene);
      await scene.applied(asked.shard, { births: [birth(scene, asked, 2)] });
      await scene.applied(asked.shard, { changes: [runEnds(scene, asked)] });
      await maintained(scene, 31);
      const { ready } = await scene.store.queries.countExecutions(TENANT, 10);
      assert.deepEqual([ready, await scene.store.load([nodeId(asked.executionId, 2)])], [0, []]);
    },
  },
  {
    title: "a retry that upkeep removed is still named by the run",
    text: "if former then call('ZREM', p .. 'rt' .. former, run) end",
    planted: "",
    story: async (scene) => {
      const former = await failed(scene);
      const asked = retryOf(scene, former);
      await scene.store.runs.retry(asked);
      await scene.applied(asked.shard, { changes: [runEnds(scene, { ...former, ...asked })] });
      await maintained(scene, 31);
      assert.deepEqual((await scene.store.queries.getRun(TENANT, former.executionId))?.retriedBy, []);
    },
  },
];

plantedBugs("planted bugs in the functions for retries and retention of runs", BUGS);
