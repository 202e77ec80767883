import {
  type Candidate,
  type EndedAttempt,
  type ExecutionError,
  type ExecutionState,
  type Queue,
  RUN_NODE,
  type StepsMark,
  type Trigger,
} from "../../domain/execution.ts";
import { type ExecutionId, type JobId, jobOfFirstExecution, type ShardId } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import type { NewJob } from "../../ports/store.ts";
import type { ExecutionSummary } from "../../ports/store-queries.ts";
import type { OriginOfRun } from "../../ports/store-runs.ts";
import { SMALL_PAYLOAD_MAX } from "../../ports/store-transfer.ts";
import {
  field,
  fieldsOf,
  ID_BYTES,
  idBytes,
  idOf,
  instantAt,
  instantBytes,
  laneAt,
  rankAt,
  u16,
  u32,
  writeInstant,
  writeLane,
  writeRank,
} from "./bytes.ts";
import type { Kind } from "./kinds.ts";

/**
 * Records of executions. The head has fixed places, which the functions read: 44 bytes before the first change, 88 after it. Behind it come
 * the identity (unique key, then fields), the copy of the job (fields) and the ended attempts (JSON objects with commas), each with its length,
 * and then the fields of the last change. A new record without any of that ends with its head. Codes never change, because stored records
 * have them.
 */
export const EXECUTION_STATES: readonly ExecutionState[] = [
  "PENDING",
  "RUNNING",
  "SUCCEEDED",
  "DEAD",
  "CANCELLED",
  "SKIPPED",
];
const QUEUE_CODES: readonly Queue[] = ["NONE", "WAITING", "READY", "HELD", "OPEN", "PARKED"];
const TRIGGER_CODES: readonly Trigger[] = ["API", "RETRY", "SCHEDULE", "MANUAL", "BACKFILL", "NODE"];
const MARKS: readonly (StepsMark | null)[] = [null, "RECORDED", "SLEEPING", "AWAITING"];

const NEW_HEAD = 44;
export const HEAD = 88;
/** Flags of a record. HAS_PLACE: the run has a concurrency key, so that it holds a place of the key while it is open. */
export const [IS_CHANGED, IS_RUN, HAS_PLACE] = [1, 2, 4] as const;
export const HOLDS_KEY = 0x80;

/** Places in the head, and in the fixed fields of a change. */
export const AT = {
  ...{ flags: 0, state: 1, attempt: 2, queue: 6, rank: 7, shard: 15, due: 16, lane: 22, flow: 29, kind: 33 },
  ...{ created: 37, origin: 43, scheduled: 44, failures: 50, lost: 54, attemptStarted: 58, started: 64 },
  ...{ finished: 70, updated: 76, version: 82, steps: 86 },
} as const;

/** Largest payload or result within a record, in bytes; a larger one is a key of its own. */
const INLINE_MAX = SMALL_PAYLOAD_MAX;

export function stateCode(state: ExecutionState): number {
  return EXECUTION_STATES.indexOf(state);
}

export function queueCode(queue: Queue): number {
  return QUEUE_CODES.indexOf(queue);
}

export function stepsCode(mark: StepsMark): number {
  return MARKS.indexOf(mark);
}

export function stateOfCode(code: number): ExecutionState {
  return EXECUTION_STATES[code] as ExecutionState;
}

export function triggerCode(trigger: Trigger): number {
  return TRIGGER_CODES.indexOf(trigger);
}

/** Record of the first execution of a one-time job. */
export function newRecord(job: NewJob, numbers: { flow: number; kind: number }): Buffer {
  const { definition, shard, rank, laneHash, createdAt } = job;
  const head = Buffer.alloc(NEW_HEAD);
  head[AT.state] = stateCode("PENDING");
  head[AT.queue] = queueCode(job.queue);
  writeRank(head, rank, AT.rank);
  head[AT.shard] = shard;
  writeInstant(head, definition.scheduledAt, AT.due);
  writeLane(head, laneHash, AT.lane);
  head.writeUInt32BE(numbers.flow, AT.flow);
  head.writeUInt32BE(numbers.kind, AT.kind);
  writeInstant(head, createdAt, AT.created);
  head[AT.origin] = TRIGGER_CODES.indexOf("API") | (definition.uniqueKey === null ? 0 : HOLDS_KEY);
  const [identity, copy] = [identityOf(job), copyOf(job)];
  if (identity.length === 2 && copy.length === 0) return head;
  return Buffer.concat([head, u32(identity.length), identity, u32(copy.length), copy, u32(0)]);
}

/** Field of the hash of unique keys. */
export function uniqueField(tenant: string, uniqueKey: string): Buffer {
  return Buffer.from(`${tenant}\u0000${uniqueKey}`);
}

function identityOf({ jobId, executionId, tenant, definition: { uniqueKey } }: NewJob): Buffer {
  const unique = uniqueKey === null ? Buffer.alloc(0) : uniqueField(tenant, uniqueKey);
  const own = jobOfFirstExecution(executionId) === jobId ? [] : [field("J", jobId)];
  return Buffer.concat([u16(unique.length), unique, ...own]);
}

/** Part of the identity of a node's execution, at a place that functions know: its run, the node, and the item of a map. */
export function nodePart({ run, node, item }: OriginOfRun): Buffer {
  return field("M", Buffer.concat([idBytes(run), u32(node), ...(item === null ? [] : [u32(item)])]));
}

/** The copy that an execution has of its job. */
function copyOf({ definition, payload }: Pick<NewJob, "payload"> & { definition: CopiedDefinition }): Buffer {
  const fields = copiedFields(definition);
  if (payload !== null)
    fields.push(isInline(payload) ? field("P", Buffer.from(payload)) : field("B", u32(payload.length)));
  return Buffer.concat(fields);
}

export type CopiedDefinition = Pick<JobDefinition, "concurrencyKey" | "policy">;

/** Fields of the copy but the payload. */
export function copiedFields({ concurrencyKey, policy }: CopiedDefinition): Buffer[] {
  const fields: Buffer[] = [];
  if (concurrencyKey !== null) fields.push(field("C", concurrencyKey));
  if (policy.startBefore !== null) fields.push(field("S", instantBytes(policy.startBefore)));
  if (policy.traceparent !== undefined) fields.push(field("T", policy.traceparent));
  if (policy.onFinish !== undefined) fields.push(field("F", JSON.stringify(policy.onFinish)));
  return fields;
}

export function isInline(body: Uint8Array): boolean {
  return body.length <= INLINE_MAX;
}

/** A stored execution. The parts behind its head are read when they are asked for. */
export class StoredExecution {
  readonly id: ExecutionId;
  readonly #bytes: Buffer;
  readonly #isChanged: boolean;
  #tail: Tail | null = null;

  constructor(id: ExecutionId, bytes: Buffer) {
    this.id = id;
    this.#bytes = bytes;
    this.#isChanged = ((bytes[AT.flags] as number) & IS_CHANGED) === IS_CHANGED;
  }

  get jobId(): JobId {
    return this.ofNode?.run ?? this.#parts.identity.get("J")?.toString() ?? jobOfFirstExecution(this.id);
  }

  /** Whether the execution is a run of a workflow, or of a sub-workflow. */
  get isRun(): boolean {
    return ((this.#bytes[AT.flags] as number) & IS_RUN) === IS_RUN;
  }

  /** Node that the execution runs; null: it is no node's. */
  get ofNode(): OriginOfRun | null {
    const place = this.#parts.identity.get("M");
    if (place === undefined) return null;
    const item = place.length > ID_BYTES + 4 ? place.readUInt32BE(ID_BYTES + 4) : null;
    return { run: idOf(place), node: place.readUInt32BE(ID_BYTES), item };
  }

  /** Branch that the execution of a node has chosen; null: none. */
  get branch(): string | null {
    return this.#parts.rest.get("n")?.toString() ?? null;
  }

  get shard(): ShardId {
    return this.#bytes[AT.shard] as number;
  }

  get kind(): number {
    return this.#bytes.readUInt32BE(AT.kind);
  }

  get flow(): number {
    return this.#bytes.readUInt32BE(AT.flow);
  }

  get state(): ExecutionState {
    return stateOfCode(this.#bytes[AT.state] as number);
  }

  get queue(): Queue {
    return QUEUE_CODES[this.#bytes[AT.queue] as number] as Queue;
  }

  get isFinal(): boolean {
    return this.queue === "NONE";
  }

  get attempt(): number {
    return this.#bytes.readUInt32BE(AT.attempt);
  }

  get createdAt(): number {
    return instantAt(this.#bytes, AT.created) ?? 0;
  }

  get dueAt(): number {
    return instantAt(this.#bytes, AT.due) ?? 0;
  }

  get scheduledAt(): number {
    return this.#isChanged ? (instantAt(this.#bytes, AT.scheduled) ?? 0) : this.dueAt;
  }

  get rank(): number {
    return rankAt(this.#bytes, AT.rank);
  }

  get lane(): number {
    return laneAt(this.#bytes, AT.lane);
  }

  get attemptStartedAt(): number | null {
    return this.#instant(AT.attemptStarted);
  }

  get jobVersion(): number {
    return this.#isChanged ? this.#bytes.readUInt32BE(AT.version) : 1;
  }

  /** Text of a field of the last change; null: it has none. */
  text(letter: "w" | "g" | "r"): string | null {
    return this.#parts.rest.get(letter)?.toString() ?? null;
  }

  get uniqueKey(): string | null {
    const { unique } = this.#parts;
    return unique.length === 0 ? null : unique.toString("utf8", unique.indexOf(0) + 1);
  }

  get concurrencyKey(): string | null {
    return this.#parts.copy.get("C")?.toString() ?? null;
  }

  /** Payload within the record; `null`: there is none; a number: the size of a payload with a key of its own. */
  get payload(): Buffer | number | null {
    const { copy } = this.#parts;
    return copy.get("P") ?? copy.get("B")?.readUInt32BE() ?? null;
  }

  /** Result within the record, or the attempt in the name of its key; null: there is none. */
  get result(): Buffer | number | null {
    const { rest } = this.#parts;
    return rest.get("o") ?? rest.get("b")?.readUInt32BE() ?? null;
  }

  get error(): ExecutionError | null {
    const text = this.#parts.rest.get("e");
    return text === undefined ? null : (JSON.parse(String(text)) as ExecutionError);
  }

  get attempts(): EndedAttempt[] {
    return JSON.parse(`[${String(this.#parts.attempts)}]`) as EndedAttempt[];
  }

  get steps(): StepsMark | null {
    return this.#isChanged ? (MARKS[this.#bytes[AT.steps] as number] ?? null) : null;
  }

  policy(kind: Kind): Candidate["policy"] {
    const { copy } = this.#parts;
    const [startBefore, traceparent, onFinish] = [copy.get("S"), copy.get("T"), copy.get("F")];
    return {
      ...kind.policy,
      startBefore: startBefore === undefined ? null : instantAt(startBefore, 0),
      ...(traceparent !== undefined && { traceparent: String(traceparent) }),
      ...(onFinish !== undefined && { onFinish: JSON.parse(String(onFinish)) as { url: string } }),
    };
  }

  /** Execution that this one repeats; null: none. */
  get retryOf(): ExecutionId | null {
    return this.#parts.identity.get("R")?.toString() ?? null;
  }

  /** Unique key that the execution has claimed; null: none. */
  get ownUniqueKey(): string | null {
    return this.#holdsKey ? this.uniqueKey : null;
  }

  /** The owner's part of a row that is not final. */
  candidate(kind: Kind): Candidate {
    const { payload, steps, ofNode } = this;
    const node = ofNode?.node ?? (this.isRun ? RUN_NODE : undefined);
    const { tenant, pool, handler, requires, priority, concurrencyLimit } = kind;
    return {
      ...{ id: this.id, jobId: this.jobId, shard: this.#bytes[AT.shard] as number, tenant, pool, handler, requires },
      ...{ concurrencyKey: this.concurrencyKey, concurrencyLimit, hasUniqueKey: this.#holdsKey, priority },
      ...{ rank: this.rank, dueAt: this.dueAt, scheduledAt: this.scheduledAt, policy: this.policy(kind) },
      ...{ jobVersion: this.jobVersion, payloadBytes: typeof payload === "number" ? payload : (payload?.length ?? 0) },
      ...{ state: this.state as Candidate["state"], queue: this.queue, attempt: this.attempt },
      ...{ failures: this.#count(AT.failures), lost: this.#count(AT.lost), startedAt: this.#instant(AT.started) },
      ...(this.#trigger === "BACKFILL" && { backfilledAt: this.createdAt }),
      ...(steps !== null && { steps }),
      ...(node !== undefined && { node }),
      ...(ofNode !== null && ofNode.item !== null && { item: ofNode.item }),
    };
  }

  summary(kind: Kind): ExecutionSummary {
    const { tenant, pool, handler, priority } = kind;
    return {
      ...{ executionId: this.id, jobId: this.jobId, shard: this.#bytes[AT.shard] as number, tenant },
      ...{ trigger: this.#trigger, retryOf: this.retryOf },
      ...{ jobVersion: this.jobVersion, state: this.state, reason: this.text("r"), attempt: this.attempt },
      ...{ failures: this.#count(AT.failures), lost: this.#count(AT.lost) },
      ...{ maxAttempts: kind.policy.retry.maxAttempts, pool, handler, priority },
      ...{ scheduledAt: this.scheduledAt, dueAt: this.dueAt, workerId: this.text("w") },
      ...{ startedAt: this.#instant(AT.started), finishedAt: this.#instant(AT.finished), createdAt: this.createdAt },
      updatedAt: this.#instant(AT.updated) ?? this.createdAt,
    };
  }

  get #trigger(): Trigger {
    return TRIGGER_CODES[(this.#bytes[AT.origin] as number) & ~HOLDS_KEY] as Trigger;
  }

  get #holdsKey(): boolean {
    return ((this.#bytes[AT.origin] as number) & HOLDS_KEY) === HOLDS_KEY;
  }

  #count(at: number): number {
    return this.#isChanged ? this.#bytes.readUInt32BE(at) : 0;
  }

  #instant(at: number): number | null {
    return this.#isChanged ? instantAt(this.#bytes, at) : null;
  }

  get #parts(): Tail {
    this.#tail ??= tailOf(this.#bytes, this.#isChanged ? HEAD : NEW_HEAD);
    return this.#tail;
  }
}

interface Tail {
  unique: Buffer;
  identity: Map<string, Buffer>;
  copy: Map<string, Buffer>;
  attempts: Buffer;
  rest: Map<string, Buffer>;
}

const NOTHING = Buffer.alloc(0);

function tailOf(bytes: Buffer, head: number): Tail {
  if (bytes.length === head)
    return { unique: NOTHING, identity: new Map(), copy: new Map(), attempts: NOTHING, rest: new Map() };
  const [identity, copy, attempts] = partsFrom(bytes, head);
  const uniqueEnd =
    identity.until === identity.from ? identity.from : identity.from + 2 + bytes.readUInt16BE(identity.from);
  return {
    unique: bytes.subarray(Math.min(identity.from + 2, uniqueEnd), uniqueEnd),
    identity: fieldsOf(bytes, uniqueEnd, identity.until),
    copy: fieldsOf(bytes, copy.from, copy.until),
    attempts: bytes.subarray(attempts.from, attempts.until),
    rest: fieldsOf(bytes, attempts.until, bytes.length),
  };
}

interface Span {
  from: number;
  until: number;
}

function partsFrom(bytes: Buffer, head: number): [Span, Span, Span] {
  const span = (at: number): Span => ({ from: at + 4, until: at + 4 + bytes.readUInt32BE(at) });
  const identity = span(head);
  const copy = span(identity.until);
  return [identity, copy, span(copy.until)];
}
