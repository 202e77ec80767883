import {
  type Candidate,
  type EndedAttempt,
  type ExecutionError,
  type FinalState,
  isKeyedNode,
  isNode,
  type Queue,
  type StepsMark,
} from "../domain/execution.ts";
import { nodeCommandId } from "../domain/workflow/node-id.ts";
import type { Replacement, RowChange } from "../ports/store.ts";
import type { Entry } from "./entry.ts";
import { tellEnded } from "./events.ts";
import { freeKey, leaveOpening } from "./runs/held-keys.ts";
import type { PlannedSpawn } from "./runs/spawn.ts";
import { clearTimer, type MachineState, type Step } from "./state.ts";

/** Fields of a change that the entry does not have. An absent field gets its default value. */
interface Words {
  state: RowChange["state"];
  queue: Queue;
  reason?: string | null;
  finishedAt?: number;
  result?: Uint8Array | null;
  error?: ExecutionError | null;
  ended?: EndedAttempt | null;
  replacement?: Replacement;
  /** Branch that the successful attempt of a node named; left out: none. */
  branch?: string;
  /** Nodes that the handler of a node has added to its run; left out: none. */
  spawn?: PlannedSpawn;
  /** Mark of an execution that suspends; left out: it does not. */
  suspends?: StepsMark;
}

/** Writes the entry's row with the next batch, and settles the journal row that held its assignment. */
export function writeRow(step: Step, entry: Entry, words: Words): void {
  const { row } = entry;
  const running = words.state === "RUNNING";
  const final = words.queue === "NONE";
  // Only the write that suspends the execution says so: a later failure is an ordinary one.
  const steps = row.steps === undefined ? undefined : (words.suspends ?? "RECORDED");
  step.batch.write(row.shard, {
    id: entry.id,
    wasState: entry.rowState,
    wasAttempt: entry.rowAttempt,
    state: words.state,
    attempt: row.attempt,
    failures: row.failures,
    lost: row.lost,
    queue: words.queue,
    rank: row.rank,
    dueAt: row.dueAt,
    reason: words.reason ?? null,
    workerId: running ? (entry.assigned?.workerId ?? null) : (words.ended?.workerId ?? null),
    gateway: running ? (entry.assigned?.gateway ?? null) : null,
    attemptStartedAt: running ? (entry.assigned?.startedAt ?? null) : null,
    startedAt: row.startedAt,
    finishedAt: words.finishedAt ?? null,
    result: words.result ?? null,
    error: words.error ?? null,
    ended: words.ended ? [words.ended] : [],
    releaseUniqueKey: final && row.hasUniqueKey,
    ...(words.replacement !== undefined && { replacement: words.replacement }),
    ...(words.branch !== undefined && { branch: words.branch }),
    ...(words.spawn !== undefined && { spawn: words.spawn.stored }),
    ...(steps !== undefined && { steps }),
  });
  if (steps !== undefined) row.steps = steps;
  if (entry.unverified) {
    step.batch.unverified.add(entry.id);
    // A read that does not show this write yet says nothing about the hint.
    step.state.recentWrites.add(entry.id, step.batch.number);
  }
  rowSays(step, entry, running ? "RUNNING" : "PENDING", words.queue);
}

/** Updates the entry's copy of its row, and the counts that depend on it. */
function rowSays(step: Step, entry: Entry, state: "PENDING" | "RUNNING", queue: Queue): void {
  settleJournal(step, entry);
  if (entry.place === "ASSIGNED" && entry.row.queue === "READY" && entry.lane !== null) entry.lane.assignedReady--;
  if (entry.assigned !== null) entry.assigned.isNewborn = false;
  entry.row.queue = queue;
  entry.row.state = state;
  entry.rowState = state;
  entry.rowAttempt = entry.row.attempt;
}

/** Detaches the entry from its journal row. The last entry to do so has the journal row deleted. */
export function settleJournal(step: Step, entry: Entry): void {
  const box = entry.assigned?.journal;
  if (!box || !entry.assigned) return;
  entry.assigned.journal = null;
  box.unsettled--;
  // This batch cannot delete a journal row that it inserts, because one statement does not see its own inserts.
  if (box.unsettled === 0 && box.sent) {
    step.batch.shard(box.shard).settledJournals.push({ epoch: box.epoch, seq: box.seq });
  }
}

/** Ends an execution: writes its final row, answers its commands, and removes it from memory. */
export function finishEntry(
  step: Step,
  entry: Entry,
  state: FinalState,
  words: Omit<Words, "state" | "queue" | "finishedAt">,
): void {
  writeRow(step, entry, { ...words, state, queue: "NONE", finishedAt: step.now });
  // The dead letter of a node is its run.
  if (state === "DEAD" && !isNode(entry.row)) step.batch.deadLetters.push(entry.row.pool);
  completeSignals(step, entry);
  if (entry.cancels.length > 0) {
    step.batch.shard(entry.row.shard).commandsDone.push(...entry.cancels);
    for (const command of entry.cancels) step.state.openCommands.delete(command);
    entry.cancels = [];
  }
  step.state.recentWrites.add(entry.id, step.batch.number);
  tellEnded(step, entry.row, state, words);
  tellEnd(step, entry.row, state, words);
  forget(step, entry);
}

/** Notes the end of an execution that the batch writes, for the run of a node or for the plan of a job. */
export function tellEnd(step: Step, row: Candidate, state: FinalState, words: Pick<Words, "branch" | "spawn">): void {
  if (isKeyedNode(row)) tellRun(step, row, state, words.branch ?? null);
  else if (isNode(row)) noteNode(step, row, state, words);
  else step.state.plans.ended(row.jobId, row.id, step.now);
}

/** Notes the end of a workflow's node, for its run. */
function noteNode(
  { state, batch }: Step,
  row: Candidate,
  end: FinalState,
  { branch, spawn }: Pick<Words, "branch" | "spawn">,
): void {
  if (row.node === undefined) return;
  batch.nodeEnds.set(row.id, row.jobId);
  const { id, node, item = null, shard } = row;
  const part = spawn === undefined ? {} : { part: spawn.part };
  state.runs.ended.push({ id, run: row.jobId, node, item, state: end, branch: branch ?? null, shard, ...part });
}

/** Has the batch that ends a node with a concurrency key leave a command about it for the owner of its run. */
function tellRun({ batch }: Step, row: Candidate, state: FinalState, branch: string | null): void {
  const { id, jobId: run, node = 0, item = null, shard } = row;
  const command = { id: nodeCommandId("NODE_ENDED", run, node, item), kind: "NODE_ENDED", executionId: id } as const;
  batch.addCommand(shard, {
    run,
    command: { ...command, ofNode: { run, node, ...(item !== null && { item }) }, state, branch },
  });
}

/** Notes that the batch applies the commands about signals: what follows the current attempt gets the signals. */
export function completeSignals({ state, batch }: Step, entry: Entry): void {
  if (entry.signals.length === 0) return;
  batch.shard(entry.row.shard).commandsDone.push(...entry.signals);
  for (const command of entry.signals) {
    state.openCommands.delete(command);
    state.recentWrites.add(command, batch.number);
  }
  entry.signals = [];
}

/** Takes an execution that no worker has out of its place. It is NEW afterwards, and needs another. */
export function leavePlace({ state }: Step, entry: Entry): void {
  clearTimer(state, entry);
  leaveQueue(state, entry);
  if (entry.lane !== null) state.lanes.prune(entry.lane);
  entry.lane = null;
  entry.place = "NEW";
}

function leaveQueue(state: MachineState, entry: Entry): void {
  if (entry.place === "LANE") state.lanes.remove(entry);
  if (entry.place !== "OPENING") return;
  leaveOpening(state, entry);
  freeKey(state, entry.id);
}

/** Removes an entry from memory. From now on only the store's row counts. */
export function forget(step: Step, entry: Entry): void {
  const { state } = step;
  clearTimer(state, entry);
  leaveQueue(state, entry);
  entry.place = "GONE";
  state.entries.delete(entry.id);
  if (entry.lane !== null) state.lanes.prune(entry.lane);
}
