import { afterAttempt, type Next } from "../../domain/attempt-end.ts";
import type { AttemptState, EndedAttempt, ExecutionError } from "../../domain/execution.ts";
import { attemptKey, fnv1a } from "../../domain/ids.ts";
import { rankOf } from "../../domain/rank.ts";
import type { RetryAdvice } from "../../domain/retry.ts";
import type { FinishedAttempt, StartedAttempt, Token } from "../../ports/messages.ts";
import { type Assigned, type Entry, isCancelled } from "../entry.ts";
import { enter } from "../queue/intake.ts";
import { finishEntry, writeRow } from "../rows.ts";
import { clearTimer, poolOf, type Step, setTimer } from "../state.ts";
import { endSearch } from "../workers/search.ts";

/** News of attempts: started, finished, lost. */

interface End {
  state: AttemptState;
  startedAt: number | null;
  finishedAt: number;
  result: Uint8Array | null;
  error: ExecutionError | null;
  advice: RetryAdvice;
}

export function attemptStarted(step: Step, from: string, news: StartedAttempt): void {
  const found = current(step, news, news.workerId);
  if (found === null) return refuse(step, from, news.workerId, news);
  const { entry, assigned } = found;
  if (assigned.startedAt !== null) return;
  markStarted(step, entry, assigned, news.startedAt);
}

export function markStarted(step: Step, entry: Entry, assigned: Assigned, startedAt: number): void {
  // The worker's clock may be off; the start lies between the assignment and now.
  step.state.unstarted.delete(entry);
  assigned.startedAt = Math.min(Math.max(startedAt, assigned.at), step.now);
  noteStart(step, entry, assigned.startedAt);
  if (entry.rowState === "RUNNING") watchDeadline(step, entry, assigned);
}

/** The first start of any attempt is what lateness is measured by; what a backfill makes was not planned before. */
function noteStart(step: Step, { row }: Entry, startedAt: number): void {
  if (row.startedAt !== null) return;
  row.startedAt = startedAt;
  step.batch.starts.push({ pool: row.pool, latenessMs: startedAt - (row.backfilledAt ?? row.scheduledAt) });
}

/** Old enough for a row of its own: from now on the row says who has it. */
export function giveOwnRow(step: Step, entry: Entry): void {
  const { assigned } = entry;
  if (assigned === null || entry.rowState === "RUNNING") return;
  writeRow(step, entry, { state: "RUNNING", queue: "HELD" });
  if (assigned.startedAt === null) step.state.unstarted.add(entry);
  if (assigned.startedAt !== null) watchDeadline(step, entry, assigned);
}

/** While the worker is sought or stops, the timer of the attempt says how long that may take. */
function watchDeadline(step: Step, entry: Entry, assigned: Assigned): void {
  if (assigned.soughtSince !== null || assigned.stopping !== null) return;
  setTimer(step.state, entry, (assigned.startedAt ?? assigned.at) + entry.row.policy.timeoutMs);
}

export function attemptFinished(step: Step, from: string, news: FinishedAttempt): void {
  const found = current(step, news, news.workerId);
  if (found === null) return refuse(step, from, news.workerId, news);
  const { assigned } = found;
  // Timed out by the owner's order, whatever the worker calls it.
  const timedOut = news.state === "CANCELLED" && assigned.stopping === "TIMED_OUT";
  const startedAt = news.state === "RELEASED" ? null : (news.startedAt ?? assigned.startedAt);
  endAttempt(step, found.entry, assigned, { ...news, startedAt, state: timedOut ? "TIMED_OUT" : news.state });
  step.batch.acknowledge(from, news.workerId, news);
}

/** The worker is gone for good, or took too long to stop: nobody waits for this attempt any more. */
export function attemptGivenUp(step: Step, entry: Entry, state: AttemptState, message: string): void {
  const { assigned } = entry;
  if (assigned === null) return;
  const error = { name: state === "WORKER_LOST" ? "WorkerLost" : "Timeout", message };
  const startedAt = state === "RELEASED" ? null : assigned.startedAt;
  endAttempt(step, entry, assigned, {
    state,
    startedAt,
    finishedAt: step.now,
    result: null,
    error: state === "CANCELLED" || state === "RELEASED" ? null : error,
    advice: null,
  });
}

function endAttempt(step: Step, entry: Entry, assigned: Assigned, end: End): void {
  const { row } = entry;
  const cancelRequested = isCancelled(entry);
  // Nothing follows a success that needs dice.
  const dice = end.state === "SUCCEEDED" ? 0 : fnv1a(attemptKey(entry.id, row.attempt), 0x811c9dc5) / 0x100000000;
  const after = afterAttempt(
    row,
    { state: end.state, advice: end.advice, cancelRequested },
    row.policy,
    step.now,
    dice,
  );
  row.failures = after.failures;
  row.lost = after.lost;
  const finishedAt = Math.min(Math.max(end.finishedAt, assigned.at), step.now);
  const startedAt = end.startedAt === null ? null : Math.min(Math.max(end.startedAt, assigned.at), finishedAt);
  if (startedAt !== null) {
    noteStart(step, entry, startedAt);
    // How long the attempt of a lost worker ran is not known.
    if (end.state !== "WORKER_LOST") step.batch.runs.push({ pool: row.pool, runMs: finishedAt - startedAt });
  }
  const { attempt } = row;
  const { workerId } = assigned;
  const ended = { attempt, workerId, state: end.state, startedAt, finishedAt, error: end.error };
  leaveWorker(step, entry, assigned);
  const holding = step.state.permits.of(row.pool);
  if (holding !== undefined) step.batch.freed.push({ executionId: entry.id, shard: row.shard, holding });
  settle(step, entry, after.next, ended, end);
  entry.assigned = null;
}

function settle(step: Step, entry: Entry, next: Next, ended: EndedAttempt, end: End): void {
  const { error, result } = end;
  if (next.state !== "PENDING") {
    return finishEntry(step, entry, next.state, { reason: next.reason, ended, error, result });
  }
  const { row } = entry;
  if (next.dueAt !== null) {
    row.dueAt = next.dueAt;
    row.rank = rankOf(poolOf(step.state, row.pool), row.dueAt, row.priority);
  }
  const queue = row.dueAt > step.now ? "WAITING" : "READY";
  writeRow(step, entry, { state: "PENDING", queue, reason: next.reason, ended, error });
  entry.place = "NEW";
  enter(step, entry);
}

/** Gives back what the attempt held: its place at the worker, its permit of the key, its timer. */
export function leaveWorker(step: Step, entry: Entry, assigned: Assigned): void {
  const { state } = step;
  clearTimer(state, entry);
  assigned.worker?.holding.delete(entry);
  state.unstarted.delete(entry);
  if (assigned.soughtSince !== null) endSearch(step, entry, assigned);
  const gate = entry.lane?.gate;
  if (!gate) return;
  gate.running--;
  state.lanes.refreshGate(gate);
}

/** The entry whose current attempt the token names, held by this worker. */
function current(step: Step, token: Token, workerId: string): { entry: Entry; assigned: Assigned } | null {
  const entry = step.state.entries.get(token.executionId);
  if (entry?.place !== "ASSIGNED" || entry.assigned === null) return null;
  if (entry.row.attempt !== token.attempt || entry.assigned.workerId !== workerId) return null;
  return { entry, assigned: entry.assigned };
}

export function refuse(step: Step, node: string, workerId: string, token: Token): void {
  // News of a shard that is not owned here is for its owner to judge.
  if (!step.state.epochs.has(token.shard)) return;
  step.batch.refusedStale++;
  step.batch.toGateway.push({ node, message: { kind: "REFUSED", workerId, tokens: [tokenOf(token)] } });
}

function tokenOf({ shard, executionId, attempt }: Token): Token {
  return { shard, executionId, attempt };
}
