import { NODE_NAME_CHARS_MAX, WORD_CHARS_MAX } from "@mainspring/contract/limits";
import {
  type Ask,
  type Assign,
  type Cancel,
  CancelReason,
  type Finished,
  Outcome,
  RetryAdvice as WireAdvice,
  type Error as WireError,
  type Held as WireHeld,
  type Token as WireToken,
} from "@mainspring/proto";
import type { ExecutionError } from "../domain/execution.ts";
import { type Epoch, type EpochMs, SHARD_COUNT, type ShardId, type WorkerId } from "../domain/ids.ts";
import { ownerOfPool } from "../domain/pool.ts";
import type { RetryAdvice } from "../domain/retry.ts";
import { isNodeName } from "../domain/workflow/conditions.ts";
import { cleanText } from "../ports/clean-text.ts";
import type { Assignment, FinishedAttempt, Token } from "../ports/messages.ts";
import type { TenantPools } from "../security/tenant-ring.ts";
import { resultFault } from "./connections/result-check.ts";
import { spawnedOf } from "./connections/spawn-check.ts";
import { waitsOf } from "./connections/waits-check.ts";
import { ERROR_MESSAGE_MAX_CHARS, ERROR_STACK_MAX_CHARS } from "./limits.ts";

/**
 * Translates between messages of the worker protocol and messages of roles. Builds literals instead of calling
 * `create`, because this is the hot path.
 */

const NO_BYTES = new Uint8Array(0);
const UINT32_MAX = 0xffffffff;
/** The last instant that a Date can hold. */
const INSTANT_MAX = 8.64e15;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const STATES: Partial<Record<Outcome, FinishedAttempt["state"]>> = {
  [Outcome.SUCCEEDED]: "SUCCEEDED",
  [Outcome.FAILED]: "FAILED",
  [Outcome.TIMED_OUT]: "TIMED_OUT",
  [Outcome.CANCELLED]: "CANCELLED",
  [Outcome.RELEASED]: "RELEASED",
  [Outcome.SUSPENDED]: "SUSPENDED",
};

/** An attempt that a worker holds, as its hello or its answer reports it. */
export interface ReportedHold {
  token: Token;
  startedAt: EpochMs | null;
  finished: boolean;
  /** Whether the handler still runs and keeps a slot, although the attempt is finished or settled. */
  over: boolean;
}

/** Checks a token. @returns null: no server can have sent this token */
export function tokenOf(token: WireToken | undefined): Token | null {
  if (token === undefined || token.attempt < 1 || token.shard >= SHARD_COUNT || !UUID.test(token.executionId))
    return null;
  return { shard: token.shard, executionId: token.executionId, attempt: token.attempt };
}

export function reportedHoldOf(held: WireHeld): ReportedHold | null {
  const token = tokenOf(held.token);
  return token && { token, startedAt: instantOf(held.startedAtMs), finished: held.finished, over: held.over };
}

/** Converts a time of the protocol, in which 0 means none. */
export function instantOf(ms: bigint): EpochMs | null {
  const instant = Number(ms);
  return instant <= 0 ? null : Math.min(instant, INSTANT_MAX);
}

export function wireTokenOf({ executionId, attempt, shard }: Token): WireToken {
  return { $typeName: "mainspring.worker.v1.Token", executionId, attempt, shard };
}

export function assignOf(assignment: Assignment): Assign {
  return {
    $typeName: "mainspring.worker.v1.Assign",
    token: wireTokenOf(assignment),
    handler: assignment.handler,
    payload: assignment.payload ?? NO_BYTES,
    timeoutMs: Math.min(assignment.timeoutMs, UINT32_MAX),
    cancelGraceMs: Math.min(assignment.cancelGraceMs, UINT32_MAX),
    failures: assignment.failures,
    maxAttempts: assignment.maxAttempts,
    scheduledAtMs: BigInt(assignment.scheduledAt),
    epoch: BigInt(assignment.epoch),
    maySpawn: assignment.maySpawn === true,
    traceparent: assignment.traceparent ?? "",
  };
}

export function askOf(nonce: number, tokens: readonly Token[], epochs: ReadonlyMap<ShardId, Epoch>): Ask {
  return {
    $typeName: "mainspring.worker.v1.Ask",
    nonce: BigInt(nonce),
    tokens: tokens.map(wireTokenOf),
    epochs: Array.from(epochs, ([shard, epoch]) => ({
      $typeName: "mainspring.worker.v1.ShardEpoch",
      shard,
      epoch: BigInt(epoch),
    })),
  };
}

export function cancelOf(token: Token, reason: "REQUESTED" | "TIMED_OUT", graceMs: number): Cancel {
  return {
    $typeName: "mainspring.worker.v1.Cancel",
    token: wireTokenOf(token),
    reason: reason === "TIMED_OUT" ? CancelReason.TIMED_OUT : CancelReason.REQUESTED,
    graceMs: Math.min(graceMs, UINT32_MAX),
  };
}

/** Tells which pools the nodes that a worker adds mean: its name space is that of its own pool. */
function namerOf(pool: string, pools: TenantPools): (name: string) => string | null {
  const owner = ownerOfPool(pool);
  if (owner === null) return (name) => name;
  return (name) => {
    const stored = pools.poolOf(owner, name);
    return pools.allowsPool(owner, stored) ? stored : null;
  };
}

/** @param receivedAt end of the attempt if the worker did not report it */
export function finishedOf(
  report: Finished,
  token: Token,
  { workerId, pool }: { workerId: WorkerId; pool: string },
  receivedAt: EpochMs,
  pools: TenantPools,
): FinishedAttempt {
  const state = STATES[report.outcome];
  if (state === undefined) return failed(report, token, workerId, receivedAt, UNKNOWN_OUTCOME);
  const fault = state === "SUCCEEDED" && report.result.length > 0 ? resultFault(report.result) : null;
  if (fault !== null) return failed(report, token, workerId, receivedAt, fault);
  const waits = state === "SUSPENDED" ? waitsOf(report.waits) : null;
  if (typeof waits === "string") {
    return failed(report, token, workerId, receivedAt, { name: "InvalidWait", message: waits });
  }
  const branch = state === "SUCCEEDED" ? report.branch : undefined;
  if (branch !== undefined && !isNodeName(branch)) return failed(report, token, workerId, receivedAt, INVALID_BRANCH);
  const spawn =
    state === "SUCCEEDED" && report.spawned.length > 0 ? spawnedOf(report.spawned, pool, namerOf(pool, pools)) : null;
  if (spawn !== null && "message" in spawn) return failed(report, token, workerId, receivedAt, spawn);
  const isFailure = state === "FAILED" || state === "TIMED_OUT";
  const finished: FinishedAttempt = {
    shard: token.shard,
    executionId: token.executionId,
    attempt: token.attempt,
    workerId,
    state,
    startedAt: state === "RELEASED" ? null : instantOf(report.startedAtMs),
    finishedAt: instantOf(report.finishedAtMs) ?? receivedAt,
    result: state === "SUCCEEDED" && report.result.length > 0 ? report.result : null,
    error: report.error !== undefined ? errorOf(report.error) : isFailure ? { name: "Error", message: "" } : null,
    advice: adviceOf(report),
    ...(waits !== null && { waits }),
  };
  if (branch !== undefined) finished.branch = branch;
  if (spawn !== null) finished.spawn = spawn;
  return finished;
}

const UNKNOWN_OUTCOME: ExecutionError = {
  name: "UnknownOutcome",
  message: "the worker ended the attempt with an outcome that this server does not know",
};

const INVALID_BRANCH: ExecutionError = {
  name: "InvalidBranch",
  message: `a branch has a name of 1 to ${NODE_NAME_CHARS_MAX} letters, digits, "_", "." and "-"`,
};

/**
 * The result of an attempt that fails because of its own report. It is not retried, because a retry would end the same
 * way.
 */
function failed(
  report: Finished,
  token: Token,
  workerId: WorkerId,
  receivedAt: EpochMs,
  error: ExecutionError,
): FinishedAttempt {
  const times = { startedAt: instantOf(report.startedAtMs), finishedAt: instantOf(report.finishedAtMs) ?? receivedAt };
  return failedOf(token, workerId, times, error, { kind: "NEVER" });
}

/** The end of an attempt that the gateway itself fails. */
export function failedOf(
  { shard, executionId, attempt }: Token,
  workerId: WorkerId,
  times: Pick<FinishedAttempt, "startedAt" | "finishedAt">,
  error: ExecutionError,
  advice: RetryAdvice,
): FinishedAttempt {
  return { shard, executionId, attempt, workerId, state: "FAILED", ...times, result: null, error, advice };
}

/** The report of an attempt that was not delivered, so that its owner can assign it to another worker at once. */
export function releasedOf(token: Token, workerId: WorkerId, now: EpochMs): FinishedAttempt {
  return {
    shard: token.shard,
    executionId: token.executionId,
    attempt: token.attempt,
    workerId,
    state: "RELEASED",
    startedAt: null,
    finishedAt: now,
    result: null,
    error: null,
    advice: null,
  };
}

function errorOf({ name, message, stack }: WireError): ExecutionError {
  const cut = {
    name: cleanText(name, WORD_CHARS_MAX) || "Error",
    message: cleanText(message, ERROR_MESSAGE_MAX_CHARS),
  };
  return stack === "" ? cut : { ...cut, stack: cleanText(stack, ERROR_STACK_MAX_CHARS) };
}

function adviceOf(report: Finished): RetryAdvice {
  if (report.advice === WireAdvice.NEVER) return { kind: "NEVER" };
  const at = report.advice === WireAdvice.AT ? instantOf(report.retryAtMs) : null;
  return at === null ? null : { kind: "AT", at };
}
