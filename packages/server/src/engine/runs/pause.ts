import type { ExecutionId } from "../../domain/ids.ts";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { CommandOutcome } from "../../ports/messages.ts";
import type { RunChange } from "../../ports/store-runs.ts";
import { commandDone } from "../jobs/answers.ts";
import { forget } from "../rows.ts";
import type { Step } from "../state.ts";
import { isHeld, park } from "./hold.ts";
import { isKeyed } from "./keyed-nodes.ts";
import type { Run } from "./runs.ts";

/**
 * Pauses and resumes of runs. A run is paused in the commit that parks the last of its nodes that wait, or in a later one.
 * So the row of a paused run means that no row of its nodes is READY or WAITING, and a next owner starts none of them,
 * whether it has read the run or not. Nodes with concurrency keys are the exception: a pause creates none, and those that
 * exist go on.
 */

/**
 * Does what the last of the open commands asks for, and completes the commands when that is durable. A commit turns a run
 * once: a run that was resumed and paused in one commit would have started nodes although no row ever said so.
 */
export function followOrders(step: Step, run: Run): void {
  const last = step.state.runs.orders.get(run.id)?.at(-1);
  if (last === undefined || run.orderedIn !== null) return;
  const isEnding = run.mode === "CANCELLING" || run.mode === "EXPIRING";
  if (isEnding && run.outcome === null) return completeOrders(step, run, "FINAL");
  if (last.kind === "PAUSE_RUN") {
    if (!isHeld(run)) beginPause(step, run);
  } else if (isHeld(run)) resume(step, run);
  if (run.parking === null && run.orderedIn === null) completeOrders(step, run, run.paused ? "PAUSED" : "RESUMED");
}

function completeOrders(step: Step, { id }: Run, outcome: CommandOutcome): void {
  const { orders } = step.state.runs;
  const commands = orders.get(id) ?? [];
  orders.delete(id);
  for (const command of commands) commandDone(step, command, outcome);
}

/**
 * Notes that a commit is answered: what it has written of runs is durable.
 * @param committed number of its batch
 * @returns runs that were paused or resumed by then
 */
export function confirmOrders({ state }: Step, committed: number): Run[] {
  const confirmed = [...state.runs.ordered].filter(({ orderedIn }) => (orderedIn ?? 0) <= committed);
  for (const run of confirmed) {
    state.runs.ordered.delete(run);
    run.orderedIn = null;
  }
  return confirmed;
}

/** Parks the nodes that wait. Nodes that memory does not know for certain are read first. */
function beginPause(step: Step, run: Run): void {
  const { entries } = step.state;
  // The answer to the commit that creates a node brings it.
  const parking = new Set(run.uncommitted);
  run.parking = parking;
  const unknown: ExecutionId[] = [];
  for (const id of liveNodes(run)) {
    const entry = entries.get(id);
    if (run.uncommitted.has(id)) continue;
    if (entry === undefined || entry.unverified) {
      if (entry !== undefined && entry.place !== "ASSIGNED") forget(step, entry);
      parking.add(id);
      unknown.push(id);
    } else if (entry.place !== "ASSIGNED") park(step, entry);
  }
  fetchNodes(step, run, unknown);
  pauseIfParked(step, run);
}

/** Notes that a node is parked, or at a worker. */
export function nodeParked(step: Step, run: Run, id: ExecutionId): void {
  if (run.parking?.delete(id)) pauseIfParked(step, run);
}

function pauseIfParked(step: Step, run: Run): void {
  if (run.parking?.size !== 0) return;
  run.parking = null;
  setPaused(step, run, true);
}

function resume(step: Step, run: Run): void {
  run.parking = null;
  if (run.paused) setPaused(step, run, false);
  const { entries } = step.state;
  const waiting = [...liveNodes(run)].filter((id) => !entries.has(id) && !run.uncommitted.has(id));
  fetchNodes(step, run, waiting);
}

function setPaused(step: Step, run: Run, paused: boolean): void {
  run.paused = paused;
  writeRun(step, run);
  run.orderedIn = step.batch.number;
  step.state.runs.ordered.add(run);
}

/** Brings a run into memory that is paused, or that an earlier owner has resumed without starting all of its nodes. */
export function holdLoaded(step: Step, run: Run): void {
  if (!run.paused) {
    const parked = run.read.executions.filter(({ isParked }) => isParked).map(({ id }) => id);
    return fetchNodes(step, run, parked);
  }
  for (const id of liveNodes(run)) {
    const entry = step.state.entries.get(id);
    if (entry !== undefined && entry.place !== "ASSIGNED") park(step, entry);
  }
}

/** Reads nodes that are not in memory. Each then gets the place that its run allows. */
function fetchNodes({ state, wants }: Step, { id: run, shard }: Run, ids: ExecutionId[]): void {
  for (const id of ids) state.runs.fetching.set(id, { run, shard });
  if (ids.length > 0) wants.push({ kind: "LOAD", ids });
}

/** Live executions of the run that a pause parks. Executions with concurrency keys go on: their owners know no run. */
function* liveNodes(run: Run): Generator<ExecutionId> {
  for (const [node, item] of liveParts(run)) if (!isKeyed(run, node)) yield nodeExecutionId(run.id, node, item, 0);
}

function* liveParts({ progress, undo }: Run): Generator<readonly [node: number, item: number | null]> {
  const { nodeCount } = progress.graph;
  for (let node = 0; node < nodeCount; node++) {
    if (progress.stateOf(node) === "LIVE" && !progress.graph.isMap(node)) yield [node, null];
    if (undo?.compensation.stateOf(node) === "LIVE") yield [compensationOf(node), null];
  }
  yield* progress.liveItems();
}

/**
 * Writes the run's row.
 * @param after ends in this batch without which the row must stay as it is
 * @param mapCounts numbers of items of all maps that are counted; left out: they stay
 */
export function writeRun(
  step: Step,
  run: Run,
  after: readonly ExecutionId[] = [],
  mapCounts?: RunChange["mapCounts"],
): void {
  const wasRevision = run.revision++;
  const { id, revision, mode, paused, outcome } = run;
  step.batch.changeRun(run.shard, {
    ...{ run: id, wasRevision, revision, mode, paused, after },
    ...(outcome !== null && { outcome }),
    ...(mapCounts !== undefined && { mapCounts }),
  });
  step.state.recentWrites.add(id, step.batch.number);
}
