import { create } from "@bufbuild/protobuf";
import {
  type Assign,
  CancelReason,
  ErrorSchema,
  type Finished,
  FinishedSchema,
  LogSchema,
  ProgressSchema,
  type Token,
  TokenSchema,
  RetryAdvice as WireAdvice,
  Outcome as WireOutcome,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";
import type { Assignment, AttemptRef, CancelCause, FinishedReport, Outcome, Report } from "./work.ts";

/** Between what goes over the wire and what the executor works with. */

const OUTCOMES: Record<Outcome, WireOutcome> = {
  SUCCEEDED: WireOutcome.SUCCEEDED,
  FAILED: WireOutcome.FAILED,
  TIMED_OUT: WireOutcome.TIMED_OUT,
  CANCELLED: WireOutcome.CANCELLED,
  RELEASED: WireOutcome.RELEASED,
};
const ADVICES = { NEVER: WireAdvice.NEVER, AT: WireAdvice.AT } as const;
type TokenOf = (ref: AttemptRef) => Token | null;

const NO_BYTES = new Uint8Array(0);
/** A message stays well below what a receiver takes; one result is at most 1 MiB. */
const MESSAGE_MAX_BYTES = 2 * 1024 * 1024;
/** Items in one message: reading and judging many at once would hold up the gateway's other workers. */
const MESSAGE_MAX_ITEMS = 4_000;
/** Approximate size of a result beside its text, error and ids, in bytes. */
const OVERHEAD_BYTES = 160;

export function assignmentOf(assign: Assign, token: Token): Assignment {
  const { handler, payload, timeoutMs, cancelGraceMs, failures, maxAttempts, scheduledAtMs } = assign;
  return {
    executionId: token.executionId,
    attempt: token.attempt,
    handler,
    payload: textOf(payload),
    timeoutMs,
    cancelGraceMs,
    failures,
    maxAttempts,
    scheduledAtMs: Number(scheduledAtMs),
  };
}

export function refOf({ executionId, attempt }: Token): AttemptRef {
  return { executionId, attempt };
}

export function cancelCauseOf(reason: CancelReason): CancelCause {
  return reason === CancelReason.TIMED_OUT ? "TIMED_OUT" : "REQUESTED";
}

/** Literals instead of `create`: this is the hot path. */
export function finishedMessage(token: Token, { error, advice, ...report }: FinishedReport): Finished {
  return {
    $typeName: "mainspring.worker.v1.Finished",
    token,
    outcome: OUTCOMES[report.outcome],
    startedAtMs: BigInt(report.startedAtMs),
    finishedAtMs: BigInt(report.finishedAtMs),
    result: report.result === "" ? NO_BYTES : Buffer.from(report.result),
    ...(error !== null && { error: create(ErrorSchema, { ...error, stack: error.stack ?? "" }) }),
    advice: advice === null ? WireAdvice.UNSPECIFIED : ADVICES[advice.kind],
    retryAtMs: advice?.kind === "AT" ? BigInt(advice.atMs) : 0n,
    stillRunning: report.stillRunning,
  };
}

/** Hands back an attempt that the worker did not take. */
export function releasedMessage({ executionId, attempt, shard }: Token, nowMs: number): Finished {
  const token = create(TokenSchema, { executionId, attempt, shard });
  return create(FinishedSchema, { token, outcome: WireOutcome.RELEASED, finishedAtMs: BigInt(nowMs) });
}

/** Spread over as many messages as their size asks for. */
export function* messagesOf(finished: readonly Finished[]): Generator<WorkerMessage> {
  for (const part of parts(finished, sizeOf)) yield create(WorkerMessageSchema, { finished: part });
}

/** Likewise, lines before the latest progress. Output of attempts that are no longer wanted is left out. */
export function* chatterMessagesOf({ progress, logs }: Report, tokenOf: TokenOf): Generator<WorkerMessage> {
  const updates = progress.flatMap((item) => {
    const token = tokenOf(item);
    return token === null ? [] : create(ProgressSchema, { token, fraction: item.fraction, message: item.message });
  });
  const lines = logs.flatMap((item) => {
    const token = tokenOf(item);
    return token === null ? [] : create(LogSchema, { token, atMs: BigInt(item.atMs), level: "info", line: item.line });
  });
  for (const part of parts(lines, ({ line }) => OVERHEAD_BYTES + 3 * line.length)) {
    yield create(WorkerMessageSchema, { logs: part });
  }
  for (const part of parts(updates, ({ message }) => OVERHEAD_BYTES + 3 * message.length)) {
    yield create(WorkerMessageSchema, { progress: part });
  }
}

function* parts<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<T[]> {
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = bytesOf(item);
    if (part.length > 0 && (bytes + itemBytes > MESSAGE_MAX_BYTES || part.length === MESSAGE_MAX_ITEMS)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += itemBytes;
  }
  if (part.length > 0) yield part;
}

function sizeOf({ result, error }: Finished): number {
  // Three bytes a character at most.
  const errorBytes = error === undefined ? 0 : 3 * (error.name.length + error.message.length + error.stack.length);
  return OVERHEAD_BYTES + result.length + errorBytes;
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return "";
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}
