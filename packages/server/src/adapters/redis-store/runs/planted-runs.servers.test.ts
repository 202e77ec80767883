import assert from "node:assert/strict";
import {
  birth,
  born,
  loaded,
  nodeEnds,
  nodeId,
  type OpenWorkflow,
  started,
  workflow,
} from "../../../ports/conformance/runs-scene.conformance.ts";
import { applied, type Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import type { ShardCommit, ShardOutcome } from "../../../ports/store.ts";
import type { AddedCommand } from "../../../ports/store-commands.ts";
import type { NewPart, RunChange } from "../../../ports/store-runs.ts";
import { type PlantedBug, plantedBugs } from "../testing/planted-bug.ts";

const HOURS_MS = 7_200_000;

async function committed(scene: Scene, shard: number, parts: Partial<ShardCommit>): Promise<ShardOutcome> {
  const [outcome] = await scene.store.commit([scene.tick(shard, parts)]);
  assert.ok(outcome);
  return outcome;
}

/** Change of a node whose row has another attempt. */
function missedEnd(scene: Scene, asked: OpenWorkflow, node: number) {
  return nodeEnds(scene, asked, node, { wasAttempt: 3, attempt: 4 });
}

function failing({ executionId: run }: OpenWorkflow, more: Partial<RunChange> = {}): RunChange {
  return { run, wasRevision: 1, revision: 2, mode: "FAILING", paused: false, ...more };
}

function spawned(scene: Scene, asked: OpenWorkflow) {
  const [graph, definitions] = [Buffer.from("graph"), Buffer.from("definitions")];
  const part: NewPart = { run: asked.executionId, spawner: 0, first: 4, nodes: 1, graph, definitions, payloads: [] };
  return nodeEnds(scene, asked, 0, { spawn: part });
}

function endOf(asked: OpenWorkflow, node: number): AddedCommand {
  const { executionId: run } = asked;
  const [id, executionId] = [nodeId(run, node, 0xff), nodeId(run, node)];
  const command = { id, kind: "NODE_ENDED", executionId, ofNode: { run, node } } as const;
  return { run, command: { ...command, state: "SUCCEEDED", branch: null } };
}

function cancelOf({ executionId: run, shard }: OpenWorkflow, node: number): AddedCommand {
  return { run, command: { id: nodeId(run, node, 0xfe), kind: "CANCEL", shard, executionId: nodeId(run, node) } };
}

const BUGS: readonly PlantedBug[] = [
  {
    title: "an item that follows from the same ends as the one before is not created",
    text: "if birth.after ~= '=' then is_due = are_updated(asked, birth.after) end",
    planted: "is_due = are_updated(asked, birth.after)",
    story: async (scene) => {
      const asked = await started(scene);
      const after = [nodeId(asked.executionId, 0)];
      const births = [0, 1].map((item) => ({ ...birth(scene, asked, 3, [], { item }), after }));
      const parts = { changes: [nodeEnds(scene, asked, 0)], births };
      assert.deepEqual((await committed(scene, asked.shard, parts)).notBorn, []);
    },
  },
  {
    title: "a commit does not compare the revision of a run",
    text: "if call('HGET', key, 'v') == change.was and are_updated",
    planted: "if are_updated",
    story: async (scene) => {
      const asked = await started(scene);
      const { missedRuns } = await committed(scene, asked.shard, { runs: [failing(asked, { wasRevision: 7 })] });
      assert.deepEqual(missedRuns, [asked.executionId]);
    },
  },
  {
    title: "a run is changed after an end that is missed",
    text: "== change.was and are_updated(asked, change.after) then",
    planted: "== change.was then",
    story: async (scene) => {
      const asked = await started(scene);
      const change = failing(asked, { after: [nodeId(asked.executionId, 0)] });
      await committed(scene, asked.shard, { changes: [missedEnd(scene, asked, 0)], runs: [change] });
      assert.equal((await loaded(scene, asked)).mode, "RUNNING");
    },
  },
  {
    title: "a node of a run is created although the change of the run is missed",
    text: "if is_new and not missed[running.place(record)] and",
    planted: "if is_new and",
    story: async (scene) => {
      const asked = await started(scene);
      const parts = { runs: [failing(asked, { wasRevision: 7 })], births: [birth(scene, asked, 2)] };
      await committed(scene, asked.shard, parts);
      assert.deepEqual(await born(scene, asked), [0, 1]);
    },
  },
  {
    title: "a node is created after an end that is missed",
    text: "and are_updated(asked, birth.after) then",
    planted: "then",
    story: async (scene) => {
      const asked = await started(scene);
      const parts = { changes: [missedEnd(scene, asked, 0)], births: [birth(scene, asked, 2, [0])] };
      const { notBorn } = await committed(scene, asked.shard, parts);
      assert.deepEqual(notBorn, [nodeId(asked.executionId, 2)]);
    },
  },
  {
    title: "a node that has an execution gets a new one",
    text: "local is_new = not there[id] and not writes.born[id]",
    planted: "local is_new = not writes.born[id]",
    story: async (scene) => {
      const asked = await started(scene);
      await scene.applied(asked.shard, { changes: [nodeEnds(scene, asked, 0)] });
      await committed(scene, asked.shard, { births: [birth(scene, asked, 0)] });
      assert.equal((await loaded(scene, asked)).executions[0]?.state, "SUCCEEDED");
    },
  },
  {
    title: "a commit creates a node twice",
    text: "not there[id] and not writes.born[id]",
    planted: "not there[id]",
    story: async (scene) => {
      const asked = await started(scene);
      const births = [birth(scene, asked, 2), birth(scene, asked, 2)];
      const { notBorn } = await committed(scene, asked.shard, { births });
      assert.deepEqual(notBorn, [nodeId(asked.executionId, 2)]);
    },
  },
  {
    title: "a run gets the nodes of a handler whose end is missed",
    text: "local is_written = asked.updated[spawn.id]",
    planted: "local is_written = true",
    story: async (scene) => {
      const asked = await started(scene);
      await scene.applied(asked.shard, { changes: [nodeEnds(scene, asked, 0)] });
      await committed(scene, asked.shard, { changes: [spawned(scene, asked)] });
      assert.deepEqual((await loaded(scene, asked)).parts, []);
    },
  },
  {
    title: "upkeep removes nodes of a handler that were told again",
    text: "if is_written or call('HGET', key, field) == spawn.content then",
    planted: "if is_written then",
    story: async (scene) => {
      const asked = await started(scene);
      const changes = [spawned(scene, asked)];
      await scene.applied(asked.shard, { changes });
      await committed(scene, asked.shard, { changes });
      await scene.store.maintain(scene.runtime.now() + HOURS_MS, { days: 30, deadDays: 90 });
      assert.equal((await loaded(scene, asked)).parts[0]?.nodes, 1);
    },
  },
  {
    title: "a commit adds the command of a run whose change it misses",
    text: "local is_due = not asked.missed_runs[one.run]",
    planted: "local is_due = true",
    story: async (scene) => {
      const asked = await started(scene);
      const parts = { runs: [failing(asked, { wasRevision: 7 })], commands: [cancelOf(asked, 0)] };
      assert.equal((await committed(scene, asked.shard, parts)).added, undefined);
    },
  },
  {
    title: "a commit tells an end that it misses",
    text: "if one.ended ~= '' then is_due = asked.updated[one.ended] end",
    planted: "",
    story: async (scene) => {
      const asked = await started(scene);
      const parts = { changes: [missedEnd(scene, asked, 0)], commands: [endOf(asked, 0)] };
      assert.equal((await committed(scene, asked.shard, parts)).added, undefined);
    },
  },
  {
    title: "a command that the inbox has is told as added",
    text: "if call('HSETNX', p .. 'c' .. shard, one.id, text) == 0 then return 0 end",
    planted: "call('HSETNX', p .. 'c' .. shard, one.id, text)",
    story: async (scene) => {
      const asked = await started(scene);
      await committed(scene, asked.shard, { commands: [cancelOf(asked, 0)] });
      const again = await committed(scene, asked.shard, { commands: [cancelOf(asked, 0)] });
      assert.deepEqual(again, applied(asked.shard));
    },
  },
  {
    title: "a node loses its branch with its next change",
    text: "if running.is_node(record) and sub(rest, 1, 1) ~= 'n' then rest = running.branch(record) .. rest end",
    planted: "",
    story: async (scene) => {
      const asked = await started(scene);
      const back = { state: "PENDING", queue: "READY", finishedAt: null, branch: "left" } as const;
      await scene.applied(asked.shard, { changes: [nodeEnds(scene, asked, 0, back)] });
      await scene.applied(asked.shard, { changes: [nodeEnds(scene, asked, 0, { wasAttempt: 1, attempt: 2 })] });
      assert.equal((await loaded(scene, asked)).executions[0]?.branch, "left");
    },
  },
  {
    title: "an item of a map has two states",
    text: "mark_item(writes, p, run, node, from, item, 0)",
    planted: "",
    story: async (scene) => {
      const asked = await started(scene);
      await scene.applied(asked.shard, { births: [birth(scene, asked, 2, [], { item: 3 })] });
      const ended = { ...nodeEnds(scene, asked, 2), id: nodeId(asked.executionId, 2, 3) };
      await scene.applied(asked.shard, { changes: [ended] });
      const items = (await scene.store.runs.items([asked.executionId])).get(asked.executionId);
      assert.deepEqual(
        items?.map(({ state }) => state),
        ["SUCCEEDED"],
      );
    },
  },
  {
    title: "a workflow takes the execution of another run as its first node",
    text: "if known.there > 0 and job.roots and running.has_root(p, job.roots) then return true end",
    planted: "",
    story: async (scene) => {
      const { roots } = await started(scene);
      const other = workflow(scene, { roots });
      const [outcome] = await scene.store.submit([{ idempotency: null, jobs: [other] }]);
      assert.equal(outcome?.kind, "REFUSED");
    },
  },
  {
    title: "a new owner does not learn of a run that holds a place of its key",
    text: "if byte(record, 1) >= 4 then append",
    planted: "if false then append",
    story: async (scene) => {
      const asked = await started(scene, { concurrencyKey: "key", shard: 5 });
      const { keyedRuns } = await scene.store.recover([5]);
      assert.deepEqual(
        keyedRuns?.map(({ id }) => id),
        [asked.executionId],
      );
    },
  },
];

plantedBugs("planted bugs in the functions for runs and births", BUGS);
