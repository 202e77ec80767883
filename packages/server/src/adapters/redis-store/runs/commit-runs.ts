import { MAP_ITEMS_MAX } from "@mainspring/contract/limits";
import type { EpochMs, ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { RowChange, ShardCommit } from "../../../ports/store.ts";
import type { AddedCommand, Command } from "../../../ports/store-commands.ts";
import type { NodeBirth, RunChange } from "../../../ports/store-runs.ts";
import type { Body } from "../bodies.ts";
import { idBytes, NO_BYTES, u32 } from "../bytes.ts";
import type { RedisArgument } from "../redis-connection.ts";
import { partBodies } from "./graphs.ts";
import { type Numbers, nodeRecord, unfitNode } from "./new-workflow.ts";
import { runFields } from "./run-record.ts";

/** Approximate bytes of the execution of a node. */
const NODE_BYTES = 300;
/** Stands for the same executions as those before. Items of a map follow from all ends of other items in the commit. */
const SAME = Buffer.from("=");

/** Arguments of what a commit says about runs, as `running.read` of the library takes them. */
export function runArguments(
  { changes, runs, births, commands }: ShardCommit,
  numbersOf: (row: NodeBirth["row"]) => Numbers,
  updatedAt: EpochMs,
): RedisArgument[] {
  const spawning = changes.filter(({ spawn }) => spawn !== undefined);
  if (spawning.length + runs.length + births.length + commands.length === 0) return [""];
  return [
    ...[`${spawning.length}`, ...spawning.flatMap(spawnArguments)],
    ...[`${runs.length}`, ...runs.flatMap(changeArguments)],
    ...[`${births.length}`, ...birthsArguments(births, numbersOf, updatedAt)],
    ...[`${commands.length}`, ...commands.flatMap(commandArguments)],
  ];
}

function spawnArguments({ id, attempt, spawn }: RowChange): RedisArgument[] {
  if (spawn === undefined) return [];
  const { run, first, nodes } = spawn;
  return [idBytes(id), idBytes(run), u32(first), Buffer.concat([u32(nodes), u32(attempt)])];
}

function changeArguments(change: RunChange): RedisArgument[] {
  const fields = runFields(change);
  return [
    ...[idBytes(change.run), `${change.wasRevision}`, Buffer.concat((change.after ?? []).map(idBytes))],
    ...[`${fields.length}`, ...fields],
  ];
}

function birthsArguments(
  births: readonly NodeBirth[],
  numbersOf: (row: NodeBirth["row"]) => Numbers,
  updatedAt: EpochMs,
): RedisArgument[] {
  return births.flatMap((birth, i) => {
    const { row, after, workflow } = birth;
    const isSame = after.length > 0 && births[i - 1]?.after === after;
    return [
      ...[idBytes(row.id), nodeRecord(birth, numbersOf(row), updatedAt)],
      ...[isSame ? SAME : Buffer.concat(after.map(idBytes)), workflow === undefined ? NO_BYTES : idBytes(workflow)],
    ];
  });
}

/** The function adds the shard of the run to the text of a command without one. */
function commandArguments({ run, command }: AddedCommand): RedisArgument[] {
  const [executionId, shard] =
    command.kind === "NODE_ENDED" ? [idBytes(command.executionId), ""] : [NO_BYTES, `${command.shard}`];
  return [idBytes(run), executionId, command.id, shard, JSON.stringify(command)];
}

/** Commands that the store has added. @param shards shard of each command and 1; 0: it was not added */
export function addedCommands({ commands }: ShardCommit, shards: Buffer): { added?: Command[] } {
  const added = commands.flatMap(({ command }, i): Command[] => {
    const shard: ShardId = (shards[i] as number) - 1;
    return shard < 0 ? [] : [{ ...command, shard } as Command];
  });
  return added.length === 0 ? {} : { added };
}

/** Bodies of the nodes that handlers add. */
export function spawnedBodies({ changes }: ShardCommit): Body[] {
  return changes.flatMap(({ spawn, attempt }) => (spawn === undefined ? [] : partBodies(spawn, attempt)));
}

/** Number of rows and bytes that the runs, births and commands of a commit add to its call. */
export function runsWeight({ runs, births, commands }: ShardCommit): { count: number; bytes: number } {
  // Births count double, because a call of 500 of them takes more than the 5 ms of a call.
  return { count: runs.length + 2 * births.length + commands.length, bytes: NODE_BYTES * births.length };
}

/** @returns executions of nodes that the store can never hold, each with the reason */
export function refusedBirths({ births }: ShardCommit): { id: ExecutionId; message: string }[] {
  return births.flatMap((birth) => {
    const { id, item = 0 } = birth.row;
    // Items are bits of a text, which must not become long.
    const message = unfitNode(birth) ?? (item < MAP_ITEMS_MAX ? null : `${item} is no item of a map`);
    return message === null ? [] : [{ id, message }];
  });
}
