import { create } from "@bufbuild/protobuf";
import {
  type Assign,
  CancelReason,
  ErrorSchema,
  type Finished,
  FinishedSchema,
  LogSchema,
  ProgressSchema,
  type RecordedStep,
  type SpawnedNode,
  type Step,
  type StepAck,
  type Token,
  TokenSchema,
  type Wait,
  RetryAdvice as WireAdvice,
  Outcome as WireOutcome,
  StepKind as WireStepKind,
  type WorkerMessage,
  WorkerMessageSchema,
} from "@mainspring/proto";
import type {
  Assignment,
  AttemptRef,
  CancelCause,
  FinishedReport,
  Outcome,
  Report,
  SpawnedNodeReport,
  StepRecord,
  StepRef,
  StepReport,
  WaitReport,
} from "./work.ts";

/** Conversion between protocol messages and the values that the executor uses. */

const OUTCOMES: Record<Outcome, WireOutcome> = {
  SUCCEEDED: WireOutcome.SUCCEEDED,
  FAILED: WireOutcome.FAILED,
  TIMED_OUT: WireOutcome.TIMED_OUT,
  CANCELLED: WireOutcome.CANCELLED,
  RELEASED: WireOutcome.RELEASED,
  SUSPENDED: WireOutcome.SUSPENDED,
};
const STEP_KINDS = { RESULT: WireStepKind.RESULT, CHECKPOINT: WireStepKind.CHECKPOINT } as const;
const ADVICES = { NEVER: WireAdvice.NEVER, AT: WireAdvice.AT } as const;
type TokenOf = (ref: AttemptRef) => Token | null;

const NO_BYTES = new Uint8Array(0);
const NO_WAITS: Wait[] = [];
const NO_NODES: SpawnedNode[] = [];
/** Largest message, in bytes: well below the receiver's limit. One result has at most 1 MiB. */
const MESSAGE_MAX_BYTES = 2 * 1024 * 1024;
/** Largest number of items in one message. More items at once would hold up the gateway's other workers. */
const MESSAGE_MAX_ITEMS = 4_000;
/** Approximate size of a result without its text, error and ids, in bytes. */
const OVERHEAD_BYTES = 160;

/** @param recorded records of earlier attempts; undefined: none */
export function assignmentOf(assign: Assign, token: Token, recorded?: readonly StepRecord[]): Assignment {
  const { handler, payload, timeoutMs, cancelGraceMs, failures, maxAttempts, scheduledAtMs } = assign;
  const assignment: Assignment = {
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
  if (recorded !== undefined) assignment.recorded = recorded;
  if (assign.maySpawn) assignment.maySpawn = true;
  if (assign.traceparent !== "") assignment.traceparent = assign.traceparent;
  return assignment;
}

export function refOf({ executionId, attempt }: Token): AttemptRef {
  return { executionId, attempt };
}

export function cancelCauseOf(reason: CancelReason): CancelCause {
  return reason === CancelReason.TIMED_OUT ? "TIMED_OUT" : "REQUESTED";
}

/** Object literals instead of `create`, because this is the hot path. */
export function finishedMessage(token: Token, { error, advice, waits, ...report }: FinishedReport): Finished {
  const message: Finished = {
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
    waits: waits === undefined ? NO_WAITS : waits.map(waitMessage),
    spawned: report.spawned === undefined ? NO_NODES : report.spawned.map(spawnedMessage),
  };
  if (report.branch !== undefined) message.branch = report.branch;
  return message;
}

function spawnedMessage({ name, definition, payload }: SpawnedNodeReport): SpawnedNode {
  const typed = { $typeName: "mainspring.worker.v1.SpawnedNode" } as const;
  return {
    ...typed,
    name,
    definition: Buffer.from(definition),
    payload: payload === "" ? NO_BYTES : Buffer.from(payload),
  };
}

function waitMessage({ name, delayMs, signals, isRecorded }: WaitReport): Wait {
  const delay = BigInt(Math.ceil(delayMs));
  const typed = { $typeName: "mainspring.worker.v1.Wait" } as const;
  return { ...typed, name, delayMs: delay, signals: [...signals], recorded: isRecorded };
}

export function stepMessage(token: Token, { number, name, kind, data, signalId = "" }: StepReport): Step {
  const bytes = data === "" ? NO_BYTES : Buffer.from(data);
  const typed = { $typeName: "mainspring.worker.v1.Step", kind: STEP_KINDS[kind] } as const;
  return { ...typed, token, number, name, data: bytes, signalId };
}

/**
 * Records of kinds that this release does not know are left out.
 * @param nowMs monotonic clock at the arrival, in milliseconds
 */
export function recordOf({ name, kind, data, remainingMs, signalId }: RecordedStep, nowMs: number): StepRecord[] {
  switch (kind) {
    case WireStepKind.RESULT:
      return [{ name, kind: "RESULT", data: textOf(data) }];
    case WireStepKind.CHECKPOINT:
      return [{ name, kind: "CHECKPOINT", data: textOf(data) }];
    case WireStepKind.WAIT:
      return [{ name, kind: "WAIT", untilMs: nowMs + Number(remainingMs), isOver: remainingMs <= 0n }];
    case WireStepKind.SIGNAL:
      return [{ name, kind: "SIGNAL", data: textOf(data), signalId }];
    case WireStepKind.UNSPECIFIED:
  }
  return [];
}

/** The end of an attempt whose gateway is too old to suspend it: a failure that the job's policy may retry. */
export function unsuspended(finished: Finished): Finished {
  if (finished.outcome !== WireOutcome.SUSPENDED) return finished;
  const message = "the server cannot suspend an attempt: its release is older than this worker's. Upgrade the server";
  const error = create(ErrorSchema, { name: "StepsUnsupported", message });
  return { ...finished, outcome: WireOutcome.FAILED, waits: NO_WAITS, error };
}

export function stepRefOf({ token, number }: StepAck): StepRef[] {
  return token === undefined ? [] : [{ ...refOf(token), number }];
}

/** Message that hands back an attempt that the worker did not take. */
export function releasedMessage({ executionId, attempt, shard }: Token, nowMs: number): Finished {
  const token = create(TokenSchema, { executionId, attempt, shard });
  return create(FinishedSchema, { token, outcome: WireOutcome.RELEASED, finishedAtMs: BigInt(nowMs) });
}

/** Splits results into messages that respect the limits of size. */
export function* messagesOf(finished: readonly Finished[]): Generator<WorkerMessage> {
  for (const part of parts(finished, sizeOf)) yield create(WorkerMessageSchema, { finished: part });
}

/** Splits records into messages that respect the limits of size. */
export function* stepMessagesOf(steps: readonly Step[]): Generator<WorkerMessage> {
  const sizeOfStep = ({ name, data }: Step) => OVERHEAD_BYTES + 3 * name.length + data.length;
  for (const part of parts(steps, sizeOfStep)) yield create(WorkerMessageSchema, { steps: part });
}

/**
 * Splits progress and log lines into messages, log lines before the latest progress. Output of attempts that the server
 * no longer wants is omitted.
 */
export function* outputMessagesOf(
  { progress, logs }: Pick<Report, "progress" | "logs">,
  tokenOf: TokenOf,
): Generator<WorkerMessage> {
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

function sizeOf({ result, error, waits, spawned }: Finished): number {
  // A character takes at most three bytes in UTF-8.
  const errorBytes = error === undefined ? 0 : 3 * (error.name.length + error.message.length + error.stack.length);
  const waitBytes = waits.reduce((sum, wait) => sum + OVERHEAD_BYTES + 3 * (wait.name + wait.signals).length, 0);
  const nodeBytes = spawned.reduce((sum, { name, definition, payload }) => {
    return sum + OVERHEAD_BYTES + name.length + definition.length + payload.length;
  }, 0);
  return OVERHEAD_BYTES + result.length + errorBytes + waitBytes + nodeBytes;
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return "";
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
}
