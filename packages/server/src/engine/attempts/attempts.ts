import { afterAttempt, type Next } from "../../domain/attempt-end.ts";
import type { AttemptState, EndedAttempt, ExecutionError } from "../../domain/execution.ts";
import { attemptKey, type EpochMs, type ExecutionId, fnv1a } from "../../domain/ids.ts";
import { attemptLimitMs, LIFETIME_EXCEEDED, lifetimeEnd, lifetimeError } from "../../domain/lifetime.ts";
import { rankOf } from "../../domain/rank.ts";
import type { RetryAdvice } from "../../domain/retry.ts";
import { suspensionOf } from "../../domain/step.ts";
import type { FinishedAttempt, StartedAttempt, Token } from "../../ports/messages.ts";
import type { ReportedWait } from "../../ports/step-messages.ts";
import { type Assigned, type Entry, isCancelled } from "../entry.ts";
import { tellAttemptEnded, tellStarted } from "../events.ts";
import { measured } from "../fair/shares.ts";
import type { Unsendable } from "../inputs.ts";
import { enter } from "../queue/intake.ts";
import { completeSignals, finishEntry, writeRow } from "../rows.ts";
import { queueFor } from "../runs/hold.ts";
import { finishLater, type PlannedSpawn, planSpawn, takeUnfinished } from "../runs/spawn.ts";
import { clearTimer, poolOf, type Step, setTimer } from "../state.ts";
import { endSearch } from "../workers/search.ts";
import { isWoken, MARKS, type NamedWait, recordWaits, waitsOf } from "./suspend.ts";

/** Reports of attempts: started, finished, lost. */

interface End {
  state: AttemptState;
  startedAt: number | null;
  finishedAt: number;
  result: Uint8Array | null;
  error: ExecutionError | null;
  advice: RetryAdvice;
  /** Waits of a SUSPENDED attempt; left out otherwise. */
  waits?: readonly ReportedWait[];
  /** Branch that the handler named; left out: none. */
  branch?: string;
  /** Nodes that the handler has added to the run of its node; left out: none. */
  spawn?: PlannedSpawn;
  /** Reason of an execution that is DEAD because of this end; left out: that of its budget. */
  reason?: string;
}

export function attemptStarted(step: Step, from: string, report: StartedAttempt): void {
  const found = current(step, report, report.workerId);
  if (found === null) return refuse(step, from, report.workerId, report);
  const { entry, assigned } = found;
  if (assigned.startedAt !== null) return;
  markStarted(step, entry, assigned, report.startedAt);
}

export function markStarted(step: Step, entry: Entry, assigned: Assigned, startedAt: number): void {
  step.state.unstarted.delete(entry);
  assigned.startedAt = boundedInstant(entry, assigned, startedAt, step.now);
  noteStart(step, entry, assigned.startedAt);
  if (entry.rowState === "RUNNING" && !assigned.isNewborn) watchDeadline(step, entry, assigned);
  else step.state.unpersisted.add(entry, entry.row.attempt, step.now);
}

/**
 * Instant that a worker reported, corrected where the worker's clock differs from the cluster's: no attempt starts before
 * its assignment or its due time, and none ends later than now. A timer may send an assignment a part of a millisecond
 * before its due time, and a short handler ends before it. The due time counts then, although it is later than now.
 */
function boundedInstant({ row }: Entry, assigned: Assigned, reported: EpochMs, untilMs: EpochMs): EpochMs {
  return Math.max(Math.min(reported, untilMs), assigned.at, row.dueAt);
}

/**
 * Times of an attempt that has ended. A worker's clock that is behind still measures how long the attempt has run, so the
 * attempt ends at its start and that time: its waits count from its end.
 */
function boundedTimes(
  entry: Entry,
  assigned: Assigned,
  end: Pick<End, "startedAt" | "finishedAt">,
  now: EpochMs,
): { startedAt: EpochMs | null; finishedAt: EpochMs } {
  const finishedAt = boundedInstant(entry, assigned, end.finishedAt, now);
  if (end.startedAt === null) return { startedAt: null, finishedAt };
  const startedAt = boundedInstant(entry, assigned, end.startedAt, now);
  const ranUntil = Math.min(startedAt + end.finishedAt - end.startedAt, now);
  return { startedAt: Math.min(startedAt, Math.max(finishedAt, ranUntil)), finishedAt: Math.max(finishedAt, ranUntil) };
}

/**
 * Records the first start of an execution, by which lateness is measured. The lateness of a backfilled execution counts
 * from its creation, because nobody planned it before.
 */
function noteStart(step: Step, { row }: Entry, startedAt: number): void {
  if (row.startedAt !== null) return;
  row.startedAt = startedAt;
  step.batch.starts.push({ pool: row.pool, latenessMs: startedAt - (row.backfilledAt ?? row.scheduledAt) });
}

/**
 * Writes the execution's own row as RUNNING, because the attempt runs or waits for too long to stay in the journal. From
 * this commit on, the row names the worker.
 * @param isForced whether a row that says RUNNING already is written again
 */
export function giveOwnRow(step: Step, entry: Entry, isForced = false): void {
  const { assigned } = entry;
  if (assigned === null || (entry.rowState === "RUNNING" && !assigned.isNewborn && !isForced)) return;
  writeRow(step, entry, { state: "RUNNING", queue: "HELD" });
  tellStarted(step, entry, assigned, assigned.startedAt);
  if (assigned.startedAt !== null) watchDeadline(step, entry, assigned);
}

/**
 * Bounds the age of journal rows: attempts that were assigned long ago and are not known to have started get their own
 * rows, at most a full batch of assignments in a call. The remaining attempts get theirs in the next calls.
 */
export function persistUnstarted(step: Step): void {
  const { limits, unstarted } = step.state;
  let room = limits.batchAssigns;
  for (const entry of unstarted) {
    if (room === 0) return;
    const { assigned, rowState } = entry;
    if (assigned === null || rowState === "RUNNING" || step.now - assigned.at < limits.journalAgeMs) continue;
    giveOwnRow(step, entry);
    room--;
  }
}

/**
 * Sets the attempt's timer to its deadline. While the worker is searched for or stops, the timer has another meaning
 * and stays.
 */
function watchDeadline(step: Step, entry: Entry, assigned: Assigned): void {
  if (assigned.soughtSince !== null || assigned.stopping !== null) return;
  const startedAt = assigned.startedAt ?? assigned.at;
  setTimer(step.state, entry, startedAt + attemptLimitMs(entry.row, startedAt));
}

export function attemptFinished(step: Step, from: string, report: FinishedAttempt): void {
  const found = current(step, report, report.workerId);
  if (found === null) return refuse(step, from, report.workerId, report);
  const { assigned } = found;
  // The owner told the worker to stop because of the timeout, so the attempt is TIMED_OUT even if the worker reports
  // CANCELLED.
  const timedOut = report.state === "CANCELLED" && assigned.stopping === "TIMED_OUT";
  const startedAt = report.state === "RELEASED" ? null : (report.startedAt ?? assigned.startedAt);
  const { spawn: spawned } = report;
  const end = { ...withoutSpawn(report), startedAt, state: timedOut ? ("TIMED_OUT" as const) : report.state };
  if (spawned === undefined || end.state !== "SUCCEEDED") endAttempt(step, found.entry, assigned, end);
  else {
    const planned = planSpawn(step.state, found.entry.row, spawned);
    if (planned === null) return finishLater(step.state, from, found.entry.row, report);
    endAttempt(
      step,
      found.entry,
      assigned,
      typeof planned === "string" ? refusedSpawn(end, planned) : { ...end, spawn: planned },
    );
  }
  step.batch.acknowledge(from, report.workerId, tokenOf(report));
}

/** End of an attempt whose nodes the run does not take. A retry would add the same nodes. */
function refusedSpawn(end: End, why: string): End {
  const { branch: _branch, ...rest } = end;
  const error = { name: "SpawnRefused", message: `the nodes of ctx.spawn are not possible: ${why}` };
  return { ...rest, state: "FAILED", result: null, error, advice: { kind: "NEVER" } };
}

/** Ends attempts that have waited for the runs of their nodes. @param runs runs that were read */
export function finishSpawners(step: Step, runs: Iterable<ExecutionId>): void {
  for (const { from, report } of takeUnfinished(step.state, runs)) attemptFinished(step, from, report);
}

/** Ends an attempt without a report of its worker: the worker is lost, or took too long to stop. */
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

/** Ends an attempt that never reached its worker. No other attempt could be sent, so the execution is DEAD. */
export function attemptUnsendable(step: Step, unsendable: Unsendable): void {
  const found = current(step, unsendable, unsendable.workerId);
  if (found === null) return;
  const { reason, error } = unsendable;
  const advice = { kind: "NEVER" } as const;
  endAttempt(step, found.entry, found.assigned, {
    ...{ state: "FAILED", startedAt: null, finishedAt: step.now, result: null, error, advice, reason },
  });
}

function endAttempt(step: Step, entry: Entry, assigned: Assigned, end: End): void {
  const { row } = entry;
  const cancelRequested = isCancelled(entry);
  // No retry follows a success, so a success needs no random number.
  const random = end.state === "SUCCEEDED" ? 0 : fnv1a(attemptKey(entry.id, row.attempt), 0x811c9dc5) / 0x100000000;
  const { startedAt, finishedAt } = boundedTimes(entry, assigned, end, step.now);
  const waits = end.state === "SUSPENDED" ? waitsOf(end.waits ?? [], finishedAt) : null;
  const after = afterAttempt(
    row,
    {
      state: end.state,
      advice: end.advice,
      cancelRequested,
      lifetimeEndsAt: lifetimeEnd(row),
      ...(waits && { suspension: suspensionOf(waits, finishedAt) }),
    },
    row.policy,
    step.now,
    random,
  );
  if (end.state === "FAILED" || end.state === "TIMED_OUT") step.batch.failures.push(row.handler);
  row.failures = after.failures;
  row.lost = after.lost;
  if (startedAt !== null) {
    noteStart(step, entry, startedAt);
    measured(assigned, finishedAt - startedAt);
    // The run time of an attempt whose worker was lost is not known.
    if (end.state !== "WORKER_LOST") step.batch.runs.push({ pool: row.pool, runMs: finishedAt - startedAt });
  }
  const { attempt } = row;
  const { workerId } = assigned;
  const ended = { attempt, workerId, state: end.state, startedAt, finishedAt, error: end.error };
  leaveWorker(step, entry, assigned);
  step.state.permits.release(entry.id, row, step.batch.freed);
  tellStarted(step, entry, assigned, startedAt);
  tellAttemptEnded(step, row, ended, after.next.state);
  settle(step, entry, after.next, ended, { ...end, waits });
  entry.assigned = null;
}

interface Settled extends Pick<End, "error" | "result" | "branch" | "spawn" | "reason"> {
  waits: readonly NamedWait[] | null;
}

function settle(
  step: Step,
  entry: Entry,
  next: Next,
  ended: EndedAttempt,
  { error, result, waits, branch, spawn, reason: cause }: Settled,
): void {
  if (next.state !== "PENDING") {
    const { state } = next;
    const reason = state === "DEAD" ? (cause ?? next.reason) : next.reason;
    const told = reason === LIFETIME_EXCEEDED ? (error ?? lifetimeError(entry.row)) : error;
    const named = state === "SUCCEEDED" && {
      ...(branch !== undefined && { branch }),
      ...(spawn !== undefined && { spawn }),
    };
    return finishEntry(step, entry, state, { reason, ended, error: told, result, ...named });
  }
  const { row } = entry;
  if (waits !== null) recordWaits(step, entry, waits);
  const { dueAt, reason } = isWoken(entry, next.reason) ? { dueAt: step.now, reason: null } : next;
  if (dueAt !== null) {
    row.dueAt = dueAt;
    row.rank = rankOf(poolOf(step.state, row.pool), row.dueAt, row.priority);
  }
  const queue = queueFor(step.state, row, row.dueAt > step.now ? "WAITING" : "READY");
  const suspends = waits === null ? undefined : MARKS[reason ?? ""];
  writeRow(step, entry, { state: "PENDING", queue, reason, ended, error, ...(suspends && { suspends }) });
  completeSignals(step, entry);
  entry.place = "NEW";
  enter(step, entry);
}

/** The report itself where it spawns nothing, as nearly all do: a copy of all but one field is slow. */
function withoutSpawn(report: FinishedAttempt): Omit<FinishedAttempt, "spawn"> {
  if (report.spawn === undefined) return report;
  const { spawn: _, ...rest } = report;
  return rest;
}

/** Releases what the attempt holds: its places at the worker, in its tenant's share and at the gate of its key, and its timer. */
export function leaveWorker(step: Step, entry: Entry, assigned: Assigned): void {
  const { state } = step;
  clearTimer(state, entry);
  assigned.worker?.held.delete(entry);
  state.shares.ended(assigned);
  state.unstarted.delete(entry);
  if (assigned.soughtSince !== null) endSearch(step, entry, assigned);
  const gate = entry.lane?.gate;
  if (!gate) return;
  gate.running--;
  state.lanes.refreshGate(gate);
}

/** Finds the entry whose current attempt has this token and is held by this worker; null: there is none. */
export function current(step: Step, token: Token, workerId: string): { entry: Entry; assigned: Assigned } | null {
  const entry = step.state.entries.get(token.executionId);
  if (entry?.place !== "ASSIGNED" || entry.assigned === null) return null;
  if (entry.row.attempt !== token.attempt || entry.assigned.workerId !== workerId) return null;
  return { entry, assigned: entry.assigned };
}

export function refuse(step: Step, node: string, workerId: string, token: Token): void {
  // Only the owner of the shard may refuse the report, and this node does not own the shard.
  if (!step.state.epochs.has(token.shard)) return;
  step.batch.refusedStale++;
  step.batch.toGateway.push({ node, message: { kind: "REFUSED", workerId, tokens: [tokenOf(token)] } });
}

function tokenOf({ shard, executionId, attempt }: Token): Token {
  return { shard, executionId, attempt };
}
