import type { EndedAttempt, ExecutionState, Queue, StepsMark, Trigger } from "../../../domain/execution.ts";
import { type EpochMs, type ExecutionId, type JobId, jobOfFirstExecution, type ShardId } from "../../../domain/ids.ts";
import type { ExecutionPolicy } from "../../../domain/job.ts";
import type { RowChange } from "../../../ports/store.ts";
import type { OriginOfRun } from "../../../ports/store-runs.ts";
import { field, NO_BYTES, u16, u32, writeInstant, writeLane, writeRank } from "../bytes.ts";
import {
  AT,
  copiedFields,
  HAS_PLACE,
  HEAD,
  HOLDS_KEY,
  IS_CHANGED,
  IS_RUN,
  isInline,
  nodePart,
  queueCode,
  stateCode,
  stepsCode,
  triggerCode,
  uniqueField,
} from "../record.ts";

/** An execution that is not the first of its job, a run, or the execution of a node. */
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
  /** Numbers of its flow and kind. */
  flow: number;
  kind: number;
  /** Left out: the execution is no run of a workflow. */
  isRun?: boolean;
  /** Node that it runs, whose run `jobId` names. Left out: none. */
  ofNode?: OriginOfRun;
  /** Left out: it has no records of handlers. */
  steps?: StepsMark | undefined;
  /** Left out: it waits for its first attempt, or to be opened. */
  begun?: Begun;
}

/** State of an execution that is RUNNING from its creation on. */
interface Begun {
  attempt: number;
  startedAt: EpochMs | null;
  /** Left out: no worker has it, because it is a run. */
  workerId?: string;
  gateway?: string;
}

/** Record of an execution that has not ended. */
export function laterRecord(execution: LaterExecution): Buffer {
  const { begun, queue, steps } = execution;
  const head = headOf(execution);
  head[AT.state] = stateCode(begun === undefined ? "PENDING" : "RUNNING");
  head[AT.queue] = queueCode(queue);
  head.writeUInt32BE(begun?.attempt ?? 0, AT.attempt);
  writeInstant(head, begun?.startedAt ?? null, AT.started);
  writeInstant(head, null, AT.finished);
  if (steps !== undefined) head[AT.steps] = stepsCode(steps);
  const { workerId, gateway } = begun ?? {};
  const rest = [
    ...(workerId === undefined ? [] : [field("w", workerId)]),
    ...(gateway === undefined ? [] : [field("g", gateway)]),
  ];
  return Buffer.concat([head, ...tailOf(execution, execution.uniqueKey), ...rest]);
}

/** Record of an execution that was skipped when it was created, because another one holds its unique key. */
export function skippedRecord(execution: LaterExecution): Buffer {
  const head = headOf({ ...execution, uniqueKey: null });
  head[AT.state] = stateCode("SKIPPED");
  head[AT.queue] = queueCode("NONE");
  writeInstant(head, execution.updatedAt, AT.finished);
  return Buffer.concat([head, ...tailOf(execution, null), field("r", "UNIQUE_KEY_HELD")]);
}

/** Content of an execution in any state, as a transfer from another store writes it. */
export interface MovedRecord extends Omit<LaterExecution, "begun">, Omit<RestOfChange, "attempt"> {
  state: ExecutionState;
  attempt: number;
  failures: number;
  lost: number;
  attemptStartedAt: EpochMs | null;
  startedAt: EpochMs | null;
  finishedAt: EpochMs | null;
  attempts: readonly EndedAttempt[];
}

/** Record of an execution in any state. */
export function movedRecord(execution: MovedRecord): Buffer {
  const head = headOf(execution);
  head[AT.state] = stateCode(execution.state);
  head[AT.queue] = queueCode(execution.queue);
  head.writeUInt32BE(execution.attempt, AT.attempt);
  head.writeUInt32BE(execution.failures, AT.failures);
  head.writeUInt32BE(execution.lost, AT.lost);
  writeInstant(head, execution.attemptStartedAt, AT.attemptStarted);
  writeInstant(head, execution.startedAt, AT.started);
  writeInstant(head, execution.finishedAt, AT.finished);
  if (execution.steps !== undefined) head[AT.steps] = stepsCode(execution.steps);
  const attempts = Buffer.from(execution.attempts.map((attempt) => JSON.stringify(attempt)).join(","));
  return Buffer.concat([head, ...tailOf(execution, execution.uniqueKey, attempts), restOfChange(execution)]);
}

function headOf(execution: Omit<LaterExecution, "begun">): Buffer {
  const head = Buffer.alloc(HEAD);
  const { isRun = false, concurrencyKey } = execution;
  head[AT.flags] = IS_CHANGED | (isRun ? IS_RUN : 0) | (isRun && concurrencyKey !== null ? HAS_PLACE : 0);
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
  return head;
}

/** Identity, copy of the job, and ended attempts. */
function tailOf(
  { payload, ...execution }: Omit<LaterExecution, "begun">,
  uniqueKey: string | null,
  attempts: Buffer = NO_BYTES,
): Buffer[] {
  const { tenant, retryOf, ...copied } = execution;
  const unique = uniqueKey === null ? Buffer.alloc(0) : uniqueField(tenant, uniqueKey);
  const retried = retryOf === null ? [] : [field("R", retryOf)];
  const identity = Buffer.concat([u16(unique.length), unique, ...ownerPart(execution), ...retried]);
  const copy = Buffer.concat([...copiedFields(copied), ...payloadFields(payload)]);
  return [u32(identity.length), identity, u32(copy.length), copy, u32(attempts.length), attempts];
}

/** The job or the run of an execution. Nothing is said of the first execution of a job. */
function ownerPart({ id, jobId, ofNode }: Pick<LaterExecution, "id" | "jobId" | "ofNode">): Buffer[] {
  if (ofNode !== undefined) return [nodePart(ofNode)];
  return jobOfFirstExecution(id) === jobId ? [] : [field("J", jobId)];
}

/** Field of a payload. @param payload a small one; or the size of one with a key of its own, 0: none */
export function payloadFields(payload: Uint8Array | number): Buffer[] {
  if (payload === 0) return [];
  if (typeof payload === "number") return [field("B", u32(payload))];
  return [isInline(payload) ? field("P", Buffer.from(payload)) : field("B", u32(payload.length))];
}

/** Fields of the last change. Left out: the execution has chosen no branch. */
export type RestOfChange = Pick<
  RowChange,
  "workerId" | "gateway" | "reason" | "error" | "result" | "attempt" | "branch"
>;

/** Fields of a change. The branch comes first, because the function looks for it there. */
export function restOfChange({ workerId, gateway, reason, error, result, attempt, branch }: RestOfChange): Buffer {
  const fields: Buffer[] = [];
  if (branch !== undefined) fields.push(field("n", branch));
  if (workerId !== null) fields.push(field("w", workerId));
  if (gateway !== null) fields.push(field("g", gateway));
  if (reason !== null) fields.push(field("r", reason));
  if (error !== null) fields.push(field("e", JSON.stringify(error)));
  if (result !== null) fields.push(isInline(result) ? field("o", Buffer.from(result)) : field("b", u32(attempt)));
  return Buffer.concat(fields);
}
