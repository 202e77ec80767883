import { isFinal } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { isCompensation } from "../../domain/workflow/compensation-number.ts";
import { progressOf } from "../../domain/workflow/map-counts.ts";
import type { RunProgress } from "../../domain/workflow/readiness.ts";
import type { ReadMark, ReadResult, ReadRun } from "../inputs.ts";
import { commandDone } from "../jobs/answers.ts";
import { forget } from "../rows.ts";
import type { Step } from "../state.ts";
import { advance, applyEnd, awaitFailure } from "./advance.ts";
import { cancelStopped } from "./cancel-nodes.ts";
import { undoOf } from "./compensate.ts";
import { endRun } from "./end.ts";
import { holdKey } from "./held-keys.ts";
import { dropEnds, endsLoaded } from "./keyed-nodes.ts";
import { holdLoaded } from "./pause.ts";
import type { EarlyEnd, Run } from "./runs.ts";
import { signalLoaded } from "./signal-node.ts";

/** Runs that one read brings. */
const LOADED_MAX = 100;

/** Asks the store for the runs that the step needs. */
export function askForRuns({ state, wants }: Step): void {
  const { toLoad, loading } = state.runs;
  const runs: ExecutionId[] = [];
  for (const run of toLoad) {
    if (runs.length === LOADED_MAX) break;
    toLoad.delete(run);
    if (loading.has(run)) continue;
    loading.add(run);
    runs.push(run);
  }
  if (runs.length > 0) wants.push({ kind: "LOAD_RUNS", runs });
}

/** Brings runs into memory, and advances each as far as its rows allow, whatever an earlier owner has left undone. */
export function applyLoadedRuns(step: Step, read: Extract<ReadResult, { kind: "LOADED_RUNS" }>): void {
  const { runs } = step.state;
  const byId = new Map(read.runs.map((run) => [run.row.id, run]));
  for (const id of read.asked) {
    runs.loading.delete(id);
    const found = byId.get(id);
    // Another node owns the shard now, and reads the run itself.
    if (runs.byId.has(id) || (found !== undefined && !step.state.epochs.has(found.row.shard))) continue;
    if (found === undefined) gone(step, id, read);
    else if (isStale(step, found, read)) runs.expect(id);
    else if (found.row.queue === "OPEN") {
      notToOpen(step, id);
      bring(step, found, takeEarlyEnds(step, id, read));
    } else mayOpen(step, found);
  }
}

/** Keeps the content of a run that waits to be opened, and answers the commands for which it was read. */
function mayOpen(step: Step, read: ReadRun): void {
  const { openings, orders, signals } = step.state.runs;
  const { id } = read.row;
  for (const command of orders.get(id) ?? []) commandDone(step, command, "RESUMED");
  orders.delete(id);
  const sent = signals.get(id) ?? [];
  signals.delete(id);
  for (const command of sent) commandDone(step, command, "SIGNALLED");
  dropEnds(step, id);
  const opening = openings.get(id);
  if (opening === undefined) return;
  opening.entry.unverified = false;
  // The read may be older than the signals.
  opening.read = { ...read, signalled: [...read.signalled, ...sent.map(({ executionId }) => executionId)] };
}

/** Drops a run that was to be opened and is open or final: a late hint has brought it back. */
function notToOpen(step: Step, id: ExecutionId): void {
  const opening = step.state.runs.openings.get(id);
  if (opening !== undefined) forget(step, opening.entry);
}

/** A run that the read leaves out is final, if the read shows all writes of it. */
function gone(step: Step, id: ExecutionId, mark: ReadMark): void {
  const { runs, recentWrites } = step.state;
  if (recentWrites.hides(id, mark.since)) return runs.expect(id);
  notToOpen(step, id);
  runs.superseded.delete(id);
  runs.stopped.delete(id);
  dropEnds(step, id);
  runs.earlyEnds.delete(id);
  for (const open of [runs.cancels, runs.orders, runs.signals]) {
    for (const command of open.get(id) ?? []) commandDone(step, command, "FINAL");
    open.delete(id);
  }
}

function isStale({ state }: Step, { row }: ReadRun, mark: ReadMark): boolean {
  return mark.term < (state.terms.get(row.shard) ?? 0) || state.recentWrites.hides(row.id, mark.since);
}

/** Ends of the run's nodes that the read may not show. */
function takeEarlyEnds({ state, batch }: Step, id: ExecutionId, { since }: ReadMark): readonly EarlyEnd[] {
  const { runs, recentWrites } = state;
  const ends = runs.earlyEnds.get(id) ?? [];
  runs.earlyEnds.delete(id);
  // A later read must show them, because they are not kept any longer.
  if (ends.some((end) => end.batch >= since)) recentWrites.add(id, batch.number);
  return ends;
}

/**
 * Brings an open run into memory, and does for it whatever is left to do.
 * @param ends ends of nodes that the machine has written, and that the read may not show
 */
export function bring(step: Step, read: ReadRun, ends: readonly EarlyEnd[] = []): void {
  const { row, mode, paused, outcome, revision } = read;
  const { number } = step.batch;
  const { committed } = step.state.runs;
  const executions = read.executions.filter(({ node }) => !isCompensation(node));
  const progress = progressOf(read.graph, { ...read, executions }, progressMode(mode));
  const unknown = unknownEnds(executions, ends);
  for (const end of unknown) if (end.batch < number) applyWritten(progress, end);
  const inBatch = unknown.filter(({ batch }) => batch === number);
  const endsIn = Math.max(...unknown.map(({ batch }) => batch), 0);
  const run: Run = {
    id: row.id,
    shard: row.shard,
    // The items that have ended are in the progress.
    read: { ...read, items: [] },
    progress,
    nextNode: read.graph.nodeCount,
    partCount: read.graph.spawnsOf.size,
    mode,
    paused,
    parking: null,
    orderedIn: null,
    failingIn: null,
    signalled: new Set(read.signalled),
    toldToEnd: new Set(),
    revision,
    uncommitted: new Set(),
    skips: null,
    endsIn,
    overIn: null,
    outcome,
    undo: undoOf(read, progress, ends, committed),
    output: null,
    mapCounts: read.mapCounts,
    counting: new Map(),
    itemEnds: null,
    timer: null,
  };
  step.state.runs.add(run);
  holdKey(step.state, row);
  for (const end of inBatch) applyEnd(step, run, end);
  if (run.undo !== null && run.undo.ends.length > 0) step.state.runs.undoing.add(run);
  const areDurable = endsIn <= committed;
  if (mode === "RUNNING" && progress.mode === "FAILING" && !areDurable) awaitFailure(step, run);
  cancelStopped(step, run);
  holdLoaded(step, run);
  signalLoaded(step, run);
  endsLoaded(step, run);
  advance(
    step,
    run,
    inBatch.map(({ id }) => id),
  );
  if (run.overIn === null || run.revision !== revision) return;
  // The nodes had ended before the run was read. An idle system makes no commit for which the run could wait.
  if (areDurable) endRun(step, run);
  else run.overIn = endsIn;
}

function progressMode(mode: ReadRun["mode"]): RunProgress["mode"] {
  return mode === "EXPIRING" ? "CANCELLING" : mode;
}

/** Ends that the read does not show, of nodes and items. */
function unknownEnds(executions: ReadRun["executions"], ends: readonly EarlyEnd[]): EarlyEnd[] {
  const live = new Set(executions.filter(({ state }) => !isFinal(state)).map(({ id }) => id));
  return ends.filter(({ id }) => live.has(id));
}

/** Applies an end that an earlier batch has written. Its consequences need no condition, because that batch is answered first. */
function applyWritten(progress: RunProgress, end: EarlyEnd): void {
  if (end.item === null) progress.ended(end.node, end);
  else progress.itemEnded(end.node, end.item, end.state);
}
