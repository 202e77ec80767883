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
import type { RetryAdvice } from "../domain/retry.ts";
import type { Assignment, FinishedAttempt, Token } from "../ports/messages.ts";
import { resultFault } from "./connections/result-check.ts";
import { ERROR_MESSAGE_MAX_CHARS, ERROR_STACK_MAX_CHARS, NAME_MAX_CHARS } from "./limits.ts";

/** Between the protocol's messages and what roles say to each other. Literals instead of `create`: this is the hot path. */

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
};

/** One attempt that a worker holds, as its hello said. */
export interface ReportedHold {
  token: Token;
  startedAt: EpochMs | null;
  finished: boolean;
  /** Its handler still runs and keeps a slot, although the attempt is finished or settled. */
  over: boolean;
}

/** null: nothing that this server can have sent. */
export function tokenOf(token: WireToken | undefined): Token | null {
  if (token === undefined || token.attempt < 1 || token.shard >= SHARD_COUNT || !UUID.test(token.executionId))
    return null;
  return { shard: token.shard, executionId: token.executionId, attempt: token.attempt };
}

export function reportedHoldOf(held: WireHeld): ReportedHold | null {
  const token = tokenOf(held.token);
  return token && { token, startedAt: instantOf(held.startedAtMs), finished: held.finished, over: held.over };
}

/** 0 means none. */
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

/** @param receivedAt stands in where the worker did not say when it finished */
export function finishedOf(news: Finished, token: Token, workerId: WorkerId, receivedAt: EpochMs): FinishedAttempt {
  const state = STATES[news.outcome];
  if (state === undefined) return failed(news, token, workerId, receivedAt, UNKNOWN_OUTCOME);
  const fault = state === "SUCCEEDED" && news.result.length > 0 ? resultFault(news.result) : null;
  if (fault !== null) return failed(news, token, workerId, receivedAt, fault);
  const isFailure = state === "FAILED" || state === "TIMED_OUT";
  return {
    shard: token.shard,
    executionId: token.executionId,
    attempt: token.attempt,
    workerId,
    state,
    startedAt: state === "RELEASED" ? null : instantOf(news.startedAtMs),
    finishedAt: instantOf(news.finishedAtMs) ?? receivedAt,
    result: state === "SUCCEEDED" && news.result.length > 0 ? news.result : null,
    error: news.error !== undefined ? errorOf(news.error) : isFailure ? { name: "Error", message: "" } : null,
    advice: adviceOf(news),
  };
}

const UNKNOWN_OUTCOME: ExecutionError = {
  name: "UnknownOutcome",
  message: "the worker ended the attempt with an outcome that this server does not know",
};

/** Trying again would end the same way. */
function failed(
  news: Finished,
  token: Token,
  workerId: WorkerId,
  receivedAt: EpochMs,
  error: ExecutionError,
): FinishedAttempt {
  const startedAt = instantOf(news.startedAtMs);
  const finishedAt = instantOf(news.finishedAtMs) ?? receivedAt;
  const { shard, executionId, attempt } = token;
  const advice = { kind: "NEVER" } as const;
  return { shard, executionId, attempt, workerId, state: "FAILED", startedAt, finishedAt, result: null, error, advice };
}

/** The attempt was never delivered, so it may go to somebody else at once. */
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
    name: cleanText(name, NAME_MAX_CHARS) || "Error",
    message: cleanText(message, ERROR_MESSAGE_MAX_CHARS),
  };
  return stack === "" ? cut : { ...cut, stack: cleanText(stack, ERROR_STACK_MAX_CHARS) };
}

/** Cuts it, and takes out what no store keeps: NUL, and the half of a pair that cutting left. */
export function cleanText(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replaceAll("\u0000", "\ufffd").toWellFormed();
}

function adviceOf(news: Finished): RetryAdvice {
  if (news.advice === WireAdvice.NEVER) return { kind: "NEVER" };
  const at = news.advice === WireAdvice.AT ? instantOf(news.retryAtMs) : null;
  return at === null ? null : { kind: "AT", at };
}
