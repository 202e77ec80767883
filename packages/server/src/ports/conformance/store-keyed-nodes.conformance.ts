import assert from "node:assert/strict";
import { it } from "node:test";
import { laneHash } from "../../domain/lane.ts";
import type { ShardCommit, ShardOutcome } from "../store.ts";
import type { AddedCommand, NodeEndedCommand } from "../store-commands.ts";
import type { NewWorkflow, NodeBirth } from "../store-runs.ts";
import { birth, execution, loaded, nodeEnds, nodeId, started } from "./runs-scene.conformance.ts";
import { ALL_SHARDS, applied, fenced, type Scene, takeShards } from "./store-scene.conformance.ts";

const [RUNS, KEYS] = [3, 9];
const KEY = { concurrencyKey: "warehouse", concurrencyLimit: 2, shard: KEYS };

/** Nodes with concurrency keys: their executions, and the commands between the owners. */
export function keyedNodesConformance(scene: () => Scene): void {
  const commit = async (shard: number, parts: Partial<ShardCommit>): Promise<ShardOutcome> => {
    const [outcome] = await scene().store.commit([scene().tick(shard, parts)]);
    assert.ok(outcome);
    return outcome;
  };
  const keyed = (asked: NewWorkflow, node: number, after: readonly number[] = []): NodeBirth => {
    const made = birth(scene(), asked, node, after, KEY);
    return { ...made, laneHash: laneHash(made.row) };
  };
  const ended = (asked: NewWorkflow, node: number): AddedCommand => {
    const { executionId: run } = asked;
    const executionId = nodeId(run, node);
    const command = { id: nodeId(run, node, 0xff), kind: "NODE_ENDED", executionId, ofNode: { run, node } } as const;
    return { run, command: { ...command, state: "SUCCEEDED", branch: "left" } };
  };
  const cancelOf = (asked: NewWorkflow, node: number): AddedCommand => {
    const { executionId: run } = asked;
    const command = {
      id: nodeId(run, node, 0xfe),
      kind: "CANCEL",
      shard: KEYS,
      executionId: nodeId(run, node),
    } as const;
    return { run, command: { ...command, reason: "WORKFLOW_FAILED" } };
  };
  const inbox = (shard: number) => scene().store.readCommands([shard], new Set(), 10);
  /** A run in its shard, with the node 2 in the shard of its key. */
  const withKeyed = async () => {
    const asked = await started(scene(), { shard: RUNS });
    await scene().applied(RUNS, { births: [keyed(asked, 2)] });
    return asked;
  };

  it("creates a node in another shard, under the fence of its run", async () => {
    const asked = await started(scene(), { shard: RUNS });
    const made = keyed(asked, 2, [0]);
    await scene().applied(RUNS, { changes: [nodeEnds(scene(), asked, 0)], births: [made] });
    assert.deepEqual(await scene().store.readReady([KEYS], made.laneHash, null, 10), [made.row]);
    const { executions } = await loaded(scene(), asked);
    assert.deepEqual(executions[2], execution(asked, 2), "the read of a run has nodes of every shard");
  });

  it("creates no such node whose parent is missed, and none twice", async () => {
    const asked = await started(scene(), { shard: RUNS });
    const missed = nodeEnds(scene(), asked, 0, { wasAttempt: 3, attempt: 4 });
    const outcome = await commit(RUNS, { changes: [missed], births: [keyed(asked, 2, [0]), keyed(asked, 3)] });
    assert.deepEqual([outcome.missed, outcome.notBorn], [[missed.id], [nodeId(asked.executionId, 2)]]);
    const again = await commit(RUNS, { births: [keyed(asked, 3)] });
    assert.deepEqual(again.notBorn, [nodeId(asked.executionId, 3)]);
  });

  it("creates no such node for a former owner of the run, whoever owns the shard of the key", async () => {
    const asked = await started(scene(), { shard: RUNS });
    const late = scene().tick(RUNS, { births: [keyed(asked, 2)], commands: [cancelOf(asked, 1)] });
    await takeShards(scene().store, [RUNS], "next");
    assert.deepEqual(await scene().store.commit([late]), [fenced(RUNS)]);
    assert.equal((await loaded(scene(), asked)).executions.length, 2);
    assert.deepEqual(await inbox(KEYS), []);
  });

  it("tells the end of a node to the shard of its run, in the commit that writes it", async () => {
    const asked = await withKeyed();
    const told = ended(asked, 2);
    const outcome = await commit(KEYS, { changes: [nodeEnds(scene(), asked, 2)], commands: [told] });
    const command = { ...told.command, shard: RUNS } as NodeEndedCommand;
    assert.deepEqual(outcome, { ...applied(KEYS), added: [command] });
    assert.deepEqual(await inbox(RUNS), [command]);
    assert.deepEqual((await scene().store.recover([RUNS])).commands, [command]);
    assert.equal((await scene().store.poll([RUNS], { dueUntil: 0, firesUntil: 0 })).commands, true);
  });

  it("tells nothing of an end that is missed, refused or fenced", async () => {
    const asked = await withKeyed();
    const commands = [ended(asked, 2)];
    const missed = nodeEnds(scene(), asked, 2, { wasAttempt: 3, attempt: 4 });
    assert.equal((await commit(KEYS, { changes: [missed], commands })).added, undefined);
    const bad = nodeEnds(scene(), asked, 2, { workerId: "w\u0000" });
    const refused = await commit(KEYS, { changes: [bad], commands });
    assert.deepEqual([refused.refused.map(({ id }) => id), refused.added], [[bad.id], undefined]);
    const late = scene().tick(KEYS, { changes: [nodeEnds(scene(), asked, 2)], commands });
    await takeShards(scene().store, [KEYS], "next");
    assert.deepEqual(await scene().store.commit([late]), [fenced(KEYS)]);
    assert.deepEqual(await inbox(RUNS), []);
  });

  it("forgets the end of a node only with the commit of the owner that has applied it", async () => {
    const asked = await withKeyed();
    const told = ended(asked, 2);
    await commit(KEYS, { changes: [nodeEnds(scene(), asked, 2)], commands: [told] });
    const done = { commandsDone: [told.command.id], births: [birth(scene(), asked, 3)] };
    const late = scene().tick(RUNS, done);
    await takeShards(scene().store, [RUNS], "next");
    await scene().store.commit([late]);
    assert.equal((await inbox(RUNS)).length, 1, "the former owner deletes nothing");
  });

  it("deletes the end of a node together with what follows from it", async () => {
    const asked = await withKeyed();
    const told = ended(asked, 2);
    await commit(KEYS, { changes: [nodeEnds(scene(), asked, 2)], commands: [told] });
    await scene().applied(RUNS, { commandsDone: [told.command.id], births: [birth(scene(), asked, 3)] });
    assert.deepEqual(await inbox(RUNS), []);
    assert.equal((await loaded(scene(), asked)).executions.length, 4);
  });

  it("asks the owner of a key for the end of a node, unless the run's change is missed", async () => {
    const asked = await withKeyed();
    const asks = cancelOf(asked, 2);
    const run = { run: asked.executionId, revision: 2, mode: "FAILING", paused: false } as const;
    const missed = await commit(RUNS, { runs: [{ ...run, wasRevision: 7 }], commands: [asks] });
    assert.deepEqual([missed.missedRuns, await inbox(KEYS)], [[asked.executionId], []]);
    const outcome = await commit(RUNS, { runs: [{ ...run, wasRevision: 1 }], commands: [asks] });
    assert.deepEqual(outcome.added, [asks.command]);
    assert.deepEqual(await inbox(KEYS), [asks.command]);
    const again = await commit(RUNS, { commands: [asks] });
    assert.deepEqual([again.status, await inbox(KEYS)], ["APPLIED", [asks.command]]);
  });

  it("does both for the shards of one owner in one commit", async () => {
    const asked = await withKeyed();
    const other = await started(scene(), { shard: RUNS });
    const parts = [
      scene().tick(RUNS, { births: [keyed(other, 3)], commands: [cancelOf(other, 3)] }),
      scene().tick(KEYS, { changes: [nodeEnds(scene(), asked, 2)], commands: [ended(asked, 2)] }),
    ];
    const outcomes = await scene().store.commit(parts);
    assert.deepEqual(
      outcomes.map(({ added }) => added?.map(({ kind }) => kind)),
      [["CANCEL"], ["NODE_ENDED"]],
    );
    assert.equal((await scene().store.readCommands(ALL_SHARDS, new Set(), 10)).length, 2);
  });
}
