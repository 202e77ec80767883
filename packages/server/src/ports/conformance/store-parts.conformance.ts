import assert from "node:assert/strict";
import { it } from "node:test";
import type { NewPart, NewWorkflow, StoredPart } from "../store-runs.ts";
import { birth, born, loaded, nodeEnds, nodeId, runEnds, started } from "./runs-scene.conformance.ts";
import { type Scene, shardCommit, TENANT } from "./store-scene.conformance.ts";

/** Nodes that handlers add to their runs. */
export function partsConformance(scene: () => Scene): void {
  const part = ({ executionId: run }: NewWorkflow, spawner: number, first: number): NewPart => ({
    ...{ run, spawner, first, nodes: 2, graph: Buffer.from(`graph ${first}`) },
    ...{
      definitions: Buffer.from(`definitions ${first}`),
      payloads: [{ node: first + 1, payload: Buffer.from('"é"') }],
    },
  });
  const stored = ({ spawner, first, nodes, graph, definitions }: NewPart): StoredPart => ({
    ...{ spawner, first, nodes, graph, definitions },
  });
  const plain = (parts: readonly StoredPart[]) =>
    parts.map(({ graph, definitions, ...rest }) => ({
      ...rest,
      ...{ graph: Buffer.from(graph), definitions: Buffer.from(definitions) },
    }));
  const spawns = (asked: NewWorkflow, spawner: number, first: number) => ({
    changes: [nodeEnds(scene(), asked, spawner, { spawn: part(asked, spawner, first) })],
    births: [birth(scene(), asked, first, [spawner]), birth(scene(), asked, first + 1, [spawner], { payloadBytes: 4 })],
  });

  it("writes the nodes that a handler adds with the end of its node", async () => {
    const asked = await started(scene());
    assert.deepEqual((await loaded(scene(), asked)).parts, []);
    await scene().applied(asked.shard, spawns(asked, 1, 9));
    await scene().applied(asked.shard, spawns(asked, 0, 4));
    const parts = [part(asked, 0, 4), part(asked, 1, 9)].map(stored);
    assert.deepEqual(plain((await loaded(scene(), asked)).parts), parts, "in the order of their numbers");
    assert.deepEqual(await born(scene(), asked), [0, 1, 4, 5, 9, 10]);
    const view = await scene().store.queries.getRun(TENANT, asked.executionId);
    assert.deepEqual(plain(view?.parts ?? []), parts);
    const ids = [5, 9, 10, 1].map((node) => nodeId(asked.executionId, node));
    const payloads = await scene().store.payloads(ids);
    const texts = ids.map((id) => Buffer.from(payloads.get(id) ?? []).toString());
    assert.deepEqual(texts, ['"é"', "", '"é"', '"one"']);
  });

  it("writes no part of a spawner whose end is missed, or in a shard that another node owns", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0)] });
    const { store } = scene();
    const late = spawns(asked, 0, 4);
    const [outcome] = await store.commit([shardCommit(asked.shard, scene().epochOf(asked.shard), late)]);
    assert.deepEqual(outcome?.missed, [nodeId(asked.executionId, 0)]);
    assert.deepEqual(outcome?.notBorn.sort(), [4, 5].map((node) => nodeId(asked.executionId, node)).sort());
    const fenced = spawns(asked, 1, 4);
    const [other] = await store.commit([shardCommit(asked.shard, scene().epochOf(asked.shard) + 7, fenced)]);
    assert.equal(other?.status, "FENCED");
    assert.deepEqual((await loaded(scene(), asked)).parts, []);
    assert.deepEqual(await born(scene(), asked), [0, 1]);
  });

  it("writes no part with an end that the store refuses, and the other changes", async () => {
    const asked = await started(scene());
    const { changes, births } = spawns(asked, 0, 4);
    const refused = changes.map((change) => ({ ...change, reason: "no\0body" }));
    const others = [nodeEnds(scene(), asked, 1, { spawn: part(asked, 1, 6) })];
    const whole = { changes: [...refused, ...others], births };
    const [outcome] = await scene().store.commit([shardCommit(asked.shard, scene().epochOf(asked.shard), whole)]);
    assert.deepEqual(
      outcome?.refused.map(({ id }) => id),
      [nodeId(asked.executionId, 0)],
    );
    assert.deepEqual(plain((await loaded(scene(), asked)).parts), [stored(part(asked, 1, 6))]);
  });

  it("gives a retry the parts that it keeps, with their payloads", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, spawns(asked, 0, 4));
    await scene().applied(asked.shard, spawns(asked, 1, 6));
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, { state: "DEAD" })] });
    const { nodes: _, graph: __, definitions: ___, payloads: ____, output: _____, ...job } = asked;
    const executionId = scene().runtime.uuid();
    const kept = [{ run: asked.executionId, nodes: [[1, null]] as const }];
    const own = { ...job, executionId, jobVersion: 1, retryOf: asked.executionId, kept, mapCounts: [], parts: [6] };
    const root = birth(scene(), { ...asked, executionId }, 7, [], { payloadBytes: 4 });
    const outcome = await scene().store.runs.retry({ ...own, roots: [root], idempotency: null });
    assert.equal(outcome.kind, "ACCEPTED");
    assert.deepEqual(plain((await loaded(scene(), { executionId })).parts), [stored(part(asked, 1, 6))]);
    const payloads = await scene().store.payloads([root.row.id]);
    assert.equal(Buffer.from(payloads.get(root.row.id) ?? []).toString(), '"é"');
  });
}
