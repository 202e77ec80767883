import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { DURABLE } from "../../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../../tools/services/start-redis.ts";
import { laneHash } from "../../../domain/lane.ts";
import { subWorkflowId } from "../../../domain/workflow/node-id.ts";
import {
  birth,
  nodeEnds,
  nodeId,
  type OpenWorkflow,
  runEnds,
  started,
} from "../../../ports/conformance/runs-scene.conformance.ts";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { openRedisStore } from "../redis-store.ts";

const DAY_MS = 86_400_000;
const GRAPH = Buffer.from("graph");
const runtime = systemRuntime();

let redis: TestRedis;
before(async () => {
  redis = await startRedis({ settings: DURABLE });
});
after(() => redis?.stop());

/** Beginnings of the names of keys that have an id. */
async function keysOfIds(prefix: string): Promise<string> {
  const script = `local found = {}
    for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':*')) do
      local name = string.sub(key, #ARGV[1] + 2)
      if #name >= 17 then found[#found + 1] = string.gsub(string.sub(name, 1, 2), '[^%w]', '') end
    end
    table.sort(found)
    return table.concat(found, ' ')`;
  return await redis.ask("EVAL", script, "0", prefix);
}

/** A workflow with a sub-workflow in node 2, whose run has nodes of every kind, signals and records. */
async function everything(scene: Scene): Promise<OpenWorkflow> {
  const { jobId } = scene.job({});
  const id = subWorkflowId(jobId, 2);
  const nested = [{ id, nodes: 1, graph: GRAPH, definitions: GRAPH, payloads: [], output: null }];
  const asked = await started(scene, { jobId, nested, labels: { a: "b" }, name: "etl", payload: Buffer.from("1") });
  const { executionId: run, shard } = asked;
  const spawn = { run, spawner: 0, first: 4, nodes: 1, graph: GRAPH, definitions: GRAPH, payloads: [] };
  const child = birth(scene, asked, 2, [], { handler: SUB_WORKFLOW_HANDLER });
  const births = [
    { ...child, laneHash: laneHash(child.row), workflow: id },
    ...[0, 1].map((item) => birth(scene, asked, 3, [], { item })),
    birth(scene, asked, 4, [0]),
  ];
  const record = { name: "s", kind: "RESULT", attempt: 1, number: 1, at: 5, data: null } as const;
  const steps = [{ ...record, executionId: nodeId(run, 0) }];
  await scene.applied(shard, {
    changes: [nodeEnds(scene, asked, 0, { spawn, result: Buffer.alloc(5_000) })],
    births,
    steps,
  });
  const sub = { ...asked, executionId: nodeId(run, 2) };
  await scene.applied(shard, { births: [birth(scene, sub, 0), birth(scene, sub, 1, [], { item: 0 })] });
  for (const node of [3, 9]) {
    const command = { id: runtime.uuid(), kind: "SIGNAL", shard, executionId: nodeId(run, node) } as const;
    const signal = { id: "a", name: "go", data: null, at: 1 };
    await scene.store.steps.addSignal(nodeId(run, node), signal, { ...command, ofNode: { run, node } });
  }
  return asked;
}

it("removes a run with all that belongs to it, and the workflow with the last run", async () => {
  const address = { ...(redisAddress(redis.url) as RedisAddress), prefix: "all" };
  const store = await openRedisStore({ address, runtime, node: runtime.uuid() });
  const scene = await Scene.open({ store, runtime, close: () => store.close() });
  const asked = await everything(scene);
  const maintained = () => store.maintain(runtime.now() + 91 * DAY_MS, { days: 1, deadDays: 90 });
  await maintained();
  assert.equal(
    (await store.queries.listNodes(asked.tenant, asked.executionId, {}, { after: null, limit: 10 })).items.length,
    6,
  );
  await scene.applied(asked.shard, { changes: [runEnds(scene, asked, { state: "DEAD" })] });
  const { nodes: _, graph: __, definitions: ___, payloads: ____, output: _____, roots, ...job } = asked;
  const idempotency = { tenant: asked.tenant, key: "k", requestHash: "h" };
  const own = {
    ...job,
    executionId: runtime.uuid(),
    jobVersion: 1,
    retryOf: asked.executionId,
    roots: [],
    idempotency,
  };
  const kept = [{ run: asked.executionId, nodes: [[0, null] as const] }];
  assert.equal((await store.runs.retry({ ...own, kept, mapCounts: [], parts: [4] })).kind, "ACCEPTED");
  await scene.applied(asked.shard, { changes: [runEnds(scene, { ...asked, ...own, roots })] });
  const { commands } = await store.recover([asked.shard]);
  await scene.applied(asked.shard, { commandsDone: commands.map(({ id }) => id) });
  await maintained();
  assert.equal(await keysOfIds("all"), "");
  const { waiting, ready, held, openRuns } = await store.queries.countExecutions(null, 10);
  assert.deepEqual([waiting, ready, held, openRuns], [0, 0, 0, 0]);
  await store.close();
});
