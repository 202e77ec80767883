import assert from "node:assert/strict";
import { it } from "node:test";
import type { ExecutionState } from "../../domain/execution.ts";
import type { ItemStates, MapCount } from "../../domain/workflow/map-counts.ts";
import type { RowChange } from "../store.ts";
import type { NewWorkflow, RunChange } from "../store-runs.ts";
import { birth, execution, loaded, nodeEnds, nodeId, runEnds, started } from "./runs-scene.conformance.ts";
import { type Scene, shardCommit, TENANT } from "./store-scene.conformance.ts";

const COUNTS: readonly MapCount[] = [
  { node: 2, items: 7 },
  { node: 3, items: { reason: "TOO_MANY_ITEMS", error: { name: "TooManyItems", message: "é" } } },
];

/** Counts of maps, and the items of maps. */
export function mapsConformance(scene: () => Scene): void {
  const change = ({ executionId: run }: NewWorkflow, wasRevision: number, more: Partial<RunChange> = {}): RunChange => {
    return { run, wasRevision, revision: wasRevision + 1, mode: "RUNNING", paused: false, ...more };
  };
  const itemEnds = (asked: NewWorkflow, item: number, end: Partial<RowChange> = {}): RowChange => {
    return { ...nodeEnds(scene(), asked, 2, end), id: nodeId(asked.executionId, 2, item) };
  };
  const items = (asked: NewWorkflow, numbers: readonly number[]) =>
    numbers.map((item) => birth(scene(), asked, 2, [], { item }));
  const shown = (states: readonly ItemStates[] = []) =>
    states.map(({ node, state, items: of }) => [node, state, [...of]] as const).sort();

  it("keeps the counts of maps until others are written", async () => {
    const asked = await started(scene());
    assert.deepEqual((await loaded(scene(), asked)).mapCounts, []);
    await scene().applied(asked.shard, { runs: [change(asked, 1, { mapCounts: COUNTS })] });
    await scene().applied(asked.shard, { runs: [change(asked, 2, { mode: "FAILING" })] });
    const { mapCounts, mode } = await loaded(scene(), asked);
    assert.deepEqual([mapCounts, mode], [COUNTS, "FAILING"]);
    assert.deepEqual((await scene().store.queries.getRun(TENANT, asked.executionId))?.mapCounts, COUNTS);
    const uncounted = await started(scene());
    const read = await scene().store.runs.mapCounts([uncounted.executionId, asked.executionId]);
    assert.deepEqual([...read], [[asked.executionId, COUNTS]]);
  });

  it("gives states and results of items in the order asked for, until the results have enough bytes", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, { births: items(asked, [0, 1, 2, 3, 4]) });
    const results = [Buffer.from('"1234"'), Buffer.alloc(50_000, "7")];
    const dead = { state: "DEAD", error: { name: "Error", message: "no" } } as const;
    await scene().applied(asked.shard, {
      changes: [
        itemEnds(asked, 0, { result: results[0] as Buffer }),
        itemEnds(asked, 1, dead),
        itemEnds(asked, 2, { result: null }),
        itemEnds(asked, 3, { result: results[1] as Buffer }),
      ],
    });
    const ids = [9, 0, 1, 2, 3, 4].map((item) => nodeId(asked.executionId, 2, item));
    const read = async (bytes: number, from = 0) => {
      const { byId, looked } = await scene().store.runs.ends(ids.slice(from), bytes);
      const found = [...byId].map(([id, { state, result }]) => [ids.indexOf(id), state, result?.length ?? null]);
      return [looked, found] as const;
    };
    const [first, second, third, fourth, last] = [
      [1, "SUCCEEDED", 6],
      [2, "DEAD", null],
      [3, "SUCCEEDED", null],
      [4, "SUCCEEDED", 50_000],
      [5, "PENDING", null],
    ];
    assert.deepEqual(await read(1_000_000), [6, [first, second, third, fourth, last]]);
    assert.deepEqual(await read(6), [2, [first]]);
    assert.deepEqual(await read(7), [5, [first, second, third, fourth]]);
    assert.deepEqual(await read(1, 3), [2, [third, fourth]]);
    const { byId } = await scene().store.runs.ends([ids[4] as string], 1);
    assert.deepEqual(Buffer.from(byId.get(ids[4] as string)?.result ?? []), results[1]);
  });

  it("counts and creates items in one commit, or neither", async () => {
    const asked = await started(scene());
    const stale = { runs: [change(asked, 9, { mapCounts: COUNTS })], births: items(asked, [0, 1]) };
    const { store } = scene();
    const [outcome] = await store.commit([shardCommit(asked.shard, scene().epochOf(asked.shard), stale)]);
    assert.deepEqual(outcome?.missedRuns, [asked.executionId]);
    assert.deepEqual((await loaded(scene(), asked)).executions.length, 2);
    await scene().applied(asked.shard, {
      runs: [change(asked, 1, { mapCounts: COUNTS })],
      births: items(asked, [0, 1]),
    });
    const { executions } = await loaded(scene(), asked);
    assert.deepEqual(executions.slice(2), [execution(asked, 2, { item: 0 }), execution(asked, 2, { item: 1 })]);
  });

  it("shows an owner items that are final by their states, and the other ones by themselves", async () => {
    const asked = await started(scene());
    const numbers = [0, 1, 2, 3, 4, 11];
    await scene().applied(asked.shard, {
      runs: [change(asked, 1, { mapCounts: COUNTS })],
      births: items(asked, numbers),
    });
    const dead = { state: "DEAD", error: { name: "Error", message: "no" } } as const;
    const changes = [itemEnds(asked, 11), itemEnds(asked, 0), itemEnds(asked, 3, dead), itemEnds(asked, 2)];
    await scene().applied(asked.shard, { changes });
    const { executions, items: ended } = await loaded(scene(), asked);
    assert.deepEqual(
      executions.slice(2).map(({ node, item, state }) => [node, item, state]),
      [1, 4].map((item) => [2, item, "PENDING"]),
    );
    const final = [
      [2, "DEAD", [3]],
      [2, "SUCCEEDED", [0, 2, 11]],
    ] as [number, ExecutionState, number[]][];
    assert.deepEqual(shown(ended), final);
    const all = await scene().store.runs.items([asked.executionId, scene().runtime.uuid()]);
    assert.deepEqual([...all.keys()], [asked.executionId]);
    assert.deepEqual(shown(all.get(asked.executionId)), [final[0], [2, "PENDING", [1, 4]], final[1]]);
    const { queries } = scene().store;
    const page = { after: null, limit: 10 };
    const nodes = await queries.listNodes(TENANT, asked.executionId, { withoutItems: true }, page);
    assert.deepEqual(
      nodes.items.map(({ ofRun }) => ofRun.node),
      [0, 1],
    );
    const of = await queries.listNodes(TENANT, asked.executionId, { node: 2, state: "SUCCEEDED" }, page);
    assert.deepEqual(
      of.items.map(({ ofRun }) => ofRun.item),
      [0, 2, 11],
    );
  });

  it("keeps the items and counts of a retry, if their results are there", async () => {
    const asked = await started(scene());
    await scene().applied(asked.shard, { births: items(asked, [0, 1]) });
    await scene().applied(asked.shard, { changes: [nodeEnds(scene(), asked, 0), itemEnds(asked, 1)] });
    const others = [1].map((node) => nodeEnds(scene(), asked, node));
    await scene().applied(asked.shard, { changes: [...others, itemEnds(asked, 0, { state: "CANCELLED" })] });
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, { state: "DEAD" })] });
    const { nodes: _, graph: __, definitions: ___, ...job } = asked;
    const retry = (ranges: string) => {
      const executionId = scene().runtime.uuid();
      const kept = [{ run: asked.executionId, nodes: [[0, null]] as const, items: [[2, ranges]] as const }];
      const own = {
        ...job,
        executionId,
        roots: [],
        kept,
        mapCounts: COUNTS,
        parts: [],
        jobVersion: 1,
        retryOf: asked.executionId,
      };
      return { ...own, idempotency: null };
    };
    const gone = await scene().store.runs.retry(retry("0-1"));
    assert.deepEqual(gone, { kind: "RESULTS_GONE", run: asked.executionId });
    const whole = retry("1");
    assert.equal((await scene().store.runs.retry(whole)).kind, "ACCEPTED");
    const run = await loaded(scene(), whole);
    assert.deepEqual([run.kept, run.mapCounts, run.items], [whole.kept, COUNTS, []]);
    assert.deepEqual((await scene().store.runs.kept([whole.executionId])).get(whole.executionId), whole.kept);
  });
}
