import type { Entry } from "../entry.ts";
import { tellOpened } from "../events.ts";
import { firstLane } from "../fair/contender.ts";
import type { ReadRun } from "../inputs.ts";
import { endLate } from "../queue/intake.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { forget, writeRow } from "../rows.ts";
import { clearTimer, type Step } from "../state.ts";
import { holdKey, leaveOpening } from "./held-keys.ts";
import { bring } from "./load.ts";

/** Opens workflow runs that are due, as their concurrency keys allow. */

/** Runs that are read at a time in order to be opened. */
const OPENINGS_MAX = 100;
/** Nodes in a batch from which on it opens no further run. */
const NODES_MAX = 10_000;

/** A run that was chosen to be opened. */
export interface Opening {
  readonly entry: Entry;
  /** Whether the row says READY, so that reads of its lane return it. */
  readonly wasReady: boolean;
  /** The run as it was read; null: the answer has not arrived. */
  read: ReadRun | null;
}

/**
 * Chooses runs that are due, those with the smallest rank first, and opens those that have been read. A chosen run holds
 * its place of its concurrency key, so that its read cannot let more runs open than the key allows.
 */
export function openRuns(step: Step): void {
  const { runs } = step.state;
  for (let work = nextClass(step); work !== null; work = nextClass(step)) choose(step, work);
  for (const opening of [...runs.openings.values()]) {
    if (step.batch.births >= NODES_MAX) return;
    if (opening.read !== null) open(step, opening.entry, opening.read);
  }
}

/** Class of runs that has the run to choose next; null: there is none, or enough runs are chosen. */
function nextClass({ state: { lanes, runs } }: Step): WorkClass | null {
  if (runs.openings.size >= OPENINGS_MAX) return null;
  let first: WorkClass | null = null;
  for (const work of lanes.ofRuns()) {
    const rank = firstLane(work)?.key;
    if (rank === undefined) continue;
    if (first === null || rank < (firstLane(first)?.key ?? Number.POSITIVE_INFINITY)) first = work;
  }
  return first;
}

function choose(step: Step, work: WorkClass): void {
  const { state } = step;
  const lane = firstLane(work)?.item;
  const entry = lane?.ready.peek()?.item;
  if (lane === undefined || entry === undefined || endLate(step, entry)) return;
  // A late hint has brought back a run that is open. The run itself holds the place of the key.
  if (state.runs.byId.has(entry.id) || state.runs.heldKeys.has(entry.id)) return forget(step, entry);
  clearTimer(state, entry);
  const wasReady = entry.row.queue === "READY";
  if (wasReady) lane.assignedReady++;
  state.lanes.remove(entry);
  entry.place = "OPENING";
  state.runs.openings.set(entry.id, { entry, wasReady, read: null });
  holdKey(state, entry.row);
  state.runs.expect(entry.id);
}

/**
 * Opens a run: its row says so in the commit that creates the executions of its first nodes. Its deadline counts from
 * now.
 */
function open(step: Step, entry: Entry, read: ReadRun): void {
  if (endLate(step, entry)) return;
  const { row } = entry;
  leaveOpening(step.state, entry);
  entry.place = "NEW";
  row.dueAt = step.now + row.policy.timeoutMs;
  row.startedAt = step.now;
  writeRow(step, entry, { state: "RUNNING", queue: "OPEN" });
  tellOpened(step, row);
  step.state.recentWrites.add(entry.id, step.batch.number);
  forget(step, entry);
  bring(step, { ...read, row });
}
