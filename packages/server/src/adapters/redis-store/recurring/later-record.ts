import type { Queue, StepsMark, Trigger } from "../../../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import type { ExecutionPolicy } from "../../../domain/job.ts";
import { field, u16, u32, writeInstant, writeLane, writeRank } from "../bytes.ts";
import {
  AT,
  copiedFields,
  HEAD,
  HOLDS_KEY,
  IS_CHANGED,
  isInline,
  queueCode,
  stateCode,
  stepsCode,
  triggerCode,
  uniqueField,
} from "../record.ts";

/** An execution that is not the first of its job. */
export interface LaterExecution {
  id: ExecutionId;
  jobId: JobId;
  tenant: string;
  shard: ShardId;
  trigger: Trigger;
  queue: Queue;
  rank: number;
  laneHash: number;
  dueAt: EpochMs;
  scheduledAt: EpochMs;
  createdAt: EpochMs;
  updatedAt: EpochMs;
  jobVersion: number;
  policy: ExecutionPolicy;
  concurrencyKey: string | null;
  uniqueKey: string | null;
  /** Execution that this one repeats; null: none. */
  retryOf: ExecutionId | null;
  /** Payload that is small, or the size of one with a key of its own, 0: none. */
  payload: Uint8Array | number;
  /** Left out: the execution has no records of handlers. */
  steps?: StepsMark;
  /** Numbers of its flow and kind. */
  flow: number;
  kind: number;
}

/** Record of an execution that waits for its first attempt. */
export function laterRecord(execution: LaterExecution): Buffer {
  const head = headOf(execution);
  head[AT.state] = stateCode("PENDING");
  head[AT.queue] = queueCode(execution.queue);
  writeInstant(head, null, AT.finished);
  return Buffer.concat([head, ...tailOf(execution, execution.uniqueKey)]);
}

/** Record of an execution that was skipped when it was created, because another one holds its unique key. */
export function skippedRecord(execution: LaterExecution): Buffer {
  const head = headOf({ ...execution, uniqueKey: null });
  head[AT.state] = stateCode("SKIPPED");
  head[AT.queue] = queueCode("NONE");
  writeInstant(head, execution.updatedAt, AT.finished);
  return Buffer.concat([head, ...tailOf(execution, null), field("r", "UNIQUE_KEY_HELD")]);
}

function headOf(execution: LaterExecution): Buffer {
  const head = Buffer.alloc(HEAD);
  head[AT.flags] = IS_CHANGED;
  writeRank(head, execution.rank, AT.rank);
  head[AT.shard] = execution.shard;
  writeInstant(head, execution.dueAt, AT.due);
  writeLane(head, execution.laneHash, AT.lane);
  head.writeUInt32BE(execution.flow, AT.flow);
  head.writeUInt32BE(execution.kind, AT.kind);
  writeInstant(head, execution.createdAt, AT.created);
  head[AT.origin] = triggerCode(execution.trigger) | (execution.uniqueKey === null ? 0 : HOLDS_KEY);
  writeInstant(head, execution.scheduledAt, AT.scheduled);
  writeInstant(head, null, AT.attemptStarted);
  writeInstant(head, null, AT.started);
  writeInstant(head, execution.updatedAt, AT.updated);
  head.writeUInt32BE(execution.jobVersion, AT.version);
  if (execution.steps !== undefined) head[AT.steps] = stepsCode(execution.steps);
  return head;
}

/** Identity, copy of the job, and no ended attempts. */
function tailOf({ tenant, jobId, retryOf, payload, ...copied }: LaterExecution, uniqueKey: string | null): Buffer[] {
  const unique = uniqueKey === null ? Buffer.alloc(0) : uniqueField(tenant, uniqueKey);
  const retried = retryOf === null ? [] : [field("R", retryOf)];
  const identity = Buffer.concat([u16(unique.length), unique, field("J", jobId), ...retried]);
  const copy = Buffer.concat([...copiedFields(copied), ...payloadFields(payload)]);
  return [u32(identity.length), identity, u32(copy.length), copy, u32(0)];
}

/** Field of a payload. @param payload a small one; or the size of one with a key of its own, 0: none */
export function payloadFields(payload: Uint8Array | number): Buffer[] {
  if (payload === 0) return [];
  if (typeof payload === "number") return [field("B", u32(payload))];
  return [isInline(payload) ? field("P", Buffer.from(payload)) : field("B", u32(payload.length))];
}
