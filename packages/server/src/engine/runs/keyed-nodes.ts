import type { ExecutionId, ShardId } from "../../domain/ids.ts";
import { isCompensation, nodeOfCompensation, workOf } from "../../domain/workflow/compensation-number.ts";
import type { StoredWork } from "../../domain/workflow/definition.ts";
import { shardOfNode } from "../../domain/workflow/node-execution.ts";
import { nodeCommandId } from "../../domain/workflow/node-id.ts";
import type { NodeEndedCommand } from "../../ports/store-commands.ts";
import { commandApplied } from "../jobs/answers.ts";
import type { Step } from "../state.ts";
import type { NodeEnd, NodeSignal, Run } from "./runs.ts";

/**
 * Nodes with concurrency keys. The execution of such a node is in the shard of its key, like those of jobs with the key, and
 * its owner counts them together. That owner may be another node of the cluster, and never knows the run: the owner of the
 * run asks it by commands to cancel the execution, and learns of its end by a command. All of that is the same if one
 * owner has both shards.
 */

/** Commands to owners of keys in a batch from which on the rest waits for the next batch. */
const COMMANDS_MAX = 1_000;

/** @param node number of a node, or of a compensation */
export function isKeyed(run: Run, node: number): boolean {
  return workOf(run.read.definitions, node)?.concurrencyKey !== undefined;
}

/** Whether the machine has not applied the end of a node, of an item of a map, or of a compensation. */
export function isLive({ progress, undo }: Run, { node, item }: Pick<NodeEnd, "node" | "item">): boolean {
  if (isCompensation(node)) return undo?.compensation.stateOf(nodeOfCompensation(node)) === "LIVE";
  return item === null ? progress.stateOf(node) === "LIVE" : progress.isItemLive(node, item);
}

/** Applies the end of a node. A run that is not in memory is read first. */
export function keyedNodeEnded(step: Step, command: NodeEndedCommand): void {
  const { runs } = step.state;
  const id = command.ofNode.run;
  const run = runs.byId.get(id);
  if (run !== undefined) return applyEnd(step, run, command);
  runs.keyedEnds.set(id, [...(runs.keyedEnds.get(id) ?? []), command]);
  runs.expect(id);
}

/** Applies the ends that have come while the run was not in memory. The read may be older than they are. */
export function endsLoaded(step: Step, run: Run): void {
  const commands = takeEnds(step, run.id);
  for (const command of commands) applyEnd(step, run, command);
}

/** Completes the commands about ends of a run that is final, or was never opened. */
export function dropEnds(step: Step, run: ExecutionId): void {
  for (const command of takeEnds(step, run)) commandApplied(step, command);
}

function takeEnds({ state: { runs } }: Step, run: ExecutionId): readonly NodeEndedCommand[] {
  const commands = runs.keyedEnds.get(run) ?? [];
  runs.keyedEnds.delete(run);
  return commands;
}

function applyEnd(step: Step, run: Run, command: NodeEndedCommand): void {
  const { executionId: id, state, branch, ofNode } = command;
  const { node, item = null } = ofNode;
  commandApplied(step, command);
  // A read of the run that began before this end was durable must not bring the run back as it was.
  step.state.recentWrites.add(run.id, step.batch.number);
  // The read of the run has shown the end, and what follows from it is done.
  if (!isLive(run, { node, item })) return;
  step.state.runs.ended.push({ id, run: run.id, shard: run.shard, node, item, state, branch, isDurable: true });
}

/** Asks the owner of a node's key to cancel the node, once while the run is in memory. A next owner asks again. */
export function cancelKeyed(
  step: Step,
  run: Run,
  { id, node, item }: Pick<NodeEnd, "id" | "node" | "item">,
  reason: string,
): void {
  if (run.toldToEnd.has(id)) return;
  if (step.batch.commands >= COMMANDS_MAX) return void step.state.runs.untold.add(run);
  const of = { id: nodeCommandId("CANCEL", run.id, node, item), shard: shardIn(run, node), executionId: id };
  run.toldToEnd.add(id);
  step.batch.addCommand(run.shard, { run: run.id, command: { ...of, kind: "CANCEL", reason } });
}

/** Passes a signal on that names a node whose execution exists. The signal itself is in the store. */
export function passSignal(step: Step, run: Run, { id, executionId, ofNode }: NodeSignal): void {
  const shard = shardIn(run, ofNode.node);
  const command = { id: passedId(id), kind: "SIGNAL", shard, executionId } as const;
  step.batch.addCommand(run.shard, { run: run.id, command });
}

/** Id of a command that is passed on once: one commit removes the first command and adds the second. */
function passedId(id: string): string {
  const last = Number.parseInt(id.slice(-1), 16) ^ 1;
  return `${id.slice(0, -1)}${last.toString(16)}`;
}

function shardIn(run: Run, node: number): ShardId {
  const { id, shard, read } = run;
  return shardOfNode({ id, shard, tenant: read.row.tenant }, workOf(read.definitions, node) as StoredWork);
}
