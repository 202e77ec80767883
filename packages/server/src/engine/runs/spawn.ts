import { type Candidate, isKeyedNode, isNode } from "../../domain/execution.ts";
import { isCompensation } from "../../domain/workflow/compensation-number.ts";
import {
  type DefinedPart,
  decodePart,
  placed,
  spawnRefusal,
  withDefinitions,
  withParts,
} from "../../domain/workflow/spawned-parts.ts";
import type { FinishedAttempt } from "../../ports/messages.ts";
import type { Spawned } from "../../ports/step-messages.ts";
import type { NewPart } from "../../ports/store-runs.ts";
import type { MachineState } from "../state.ts";
import type { Run } from "./runs.ts";

/** Nodes that handlers add to their runs. The commit that makes a node final writes the nodes that its handler has added. */

/** Nodes that a handler adds, with their place in the run. */
export interface PlannedSpawn {
  stored: NewPart;
  part: DefinedPart;
}

/**
 * Gives the nodes that a handler adds their numbers in the run.
 * @returns a text: the reason why the run does not take the nodes; null: the run is not in memory
 */
export function planSpawn({ runs }: MachineState, row: Candidate, spawned: Spawned): PlannedSpawn | string | null {
  const { node } = row;
  if (!isNode(row) || node === undefined) return "the execution is no node of a workflow";
  if (row.item !== undefined) return "the node is a map: items cannot add nodes. Add them in a node after the map";
  if (isCompensation(node)) return "the execution is a compensation";
  // The owner of the key never knows the run.
  if (isKeyedNode(row))
    return "the node has a concurrency key: such nodes cannot add nodes. Add them in a node after it";
  const run = runs.byId.get(row.jobId);
  if (run === undefined) return null;
  const first = run.nextNode;
  const part = decodePart({ ...spawned, spawner: node, first });
  const { progress, partCount, read } = run;
  const refused = spawnRefusal({ graph: progress.graph, partCount, defined: read.defined }, part);
  if (refused !== null) return refused;
  const nodes = part.graph.nodeCount;
  run.nextNode = first + nodes;
  run.partCount++;
  const payloads = spawned.payloads.map((own) => ({ node: first + own.node, payload: placed(own.payload, part) }));
  const { graph, definitions } = spawned;
  return { stored: { run: run.id, spawner: node, first, nodes, graph, definitions, payloads }, part };
}

/** Adds nodes to a run in memory, whose spawner ends in this batch. */
export function addPart(run: Run, part: DefinedPart): void {
  run.progress = run.progress.extended(withParts(run.progress.graph, [part]));
  const { graph } = run.progress;
  run.read = { ...run.read, graph, definitions: withDefinitions(run.read.definitions, [part]) };
}

/** Keeps the end of an attempt whose handler adds nodes until the run of its node is in memory. */
export function finishLater({ runs }: MachineState, from: string, row: Candidate, report: FinishedAttempt): void {
  const { jobId } = row;
  const waiting = runs.unfinished.get(jobId) ?? new Map<string, { from: string; report: FinishedAttempt }>();
  runs.unfinished.set(jobId, waiting.set(row.id, { from, report }));
  runs.expect(jobId);
}

/** Ends of attempts that have waited for runs which were asked for and are in memory, or gone. */
export function takeUnfinished(
  { runs }: MachineState,
  asked: Iterable<string>,
): { from: string; report: FinishedAttempt }[] {
  const found: { from: string; report: FinishedAttempt }[] = [];
  for (const id of asked) {
    const waiting = runs.unfinished.get(id);
    if (waiting === undefined || runs.toLoad.has(id)) continue;
    runs.unfinished.delete(id);
    if (runs.byId.has(id)) found.push(...waiting.values());
  }
  return found;
}
