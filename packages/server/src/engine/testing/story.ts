import assert from "node:assert/strict";
import type { Candidate } from "../../domain/execution.ts";
import { shardKey, shardOf } from "../../domain/ids.ts";
import { DEFAULT_POLICY, type ExecutionPolicy } from "../../domain/job.ts";
import { DEFAULT_ORDERING, rankOf } from "../../domain/rank.ts";
import type {
  Assignment,
  FinishedAttempt,
  FromGateway,
  HeldAttempt,
  ToApi,
  ToGateway,
  WorkerProfile,
} from "../../ports/messages.ts";
import type { Demand } from "../../ports/share-messages.ts";
import type { RowChange } from "../../ports/store.ts";
import { Batch } from "../batch.ts";
import { DEFAULT_LIMITS, type Input, type Limits, type Want } from "../inputs.ts";
import { sealBatch, step } from "../machine.ts";
import type { PermitLetter } from "../permits/permits.ts";
import { createState, type MachineState } from "../state.ts";

export const START = Date.UTC(2026, 0, 1);
export const GATEWAY = "gateway-1";

/** Drives a machine through a test, and keeps its messages. The clock stands still unless the test moves it. */
export class Story {
  readonly state: MachineState;
  batch = new Batch(1);
  now = START;
  wakeAt: number | null = null;
  wants: Want[] = [];
  /** All demand that gateways were told. */
  demands: Demand[] = [];
  /** The same demand, by message. */
  told: Demand[][] = [];
  /** Messages about permits that have not arrived. */
  letters: PermitLetter[] = [];
  readonly #granted = new Map<string, number>();

  constructor(limits: Partial<Limits> = {}) {
    this.state = createState({ ...DEFAULT_LIMITS, ...limits });
    const epochs = new Map(Array.from({ length: 64 }, (_, shard) => [shard, 1]));
    const recovered = { inFlight: [], journals: [], commands: [] };
    this.tell({ kind: "OWNED", term: 1, epochs, recovered, incarnation: "node-1" });
  }

  tell(...inputs: Input[]): this {
    const result = step(this.state, this.batch, inputs, this.now);
    this.wakeAt = result.wakeAt;
    this.demands.push(...(result.demand ?? []));
    if (result.demand !== null) this.told.push(result.demand);
    this.wants.push(...result.wants);
    this.letters.push(...result.permits);
    return this;
  }

  gateway(message: FromGateway): this {
    return this.tell({ kind: "GATEWAY", from: GATEWAY, message });
  }

  /** Moves the clock. */
  later(ms: number): this {
    this.now += ms;
    return this.tell();
  }

  hint(...rows: Candidate[]): this {
    return this.tell({ kind: "HINTED", rows });
  }

  worker(workerId: string, profile: Partial<WorkerProfile> = {}): this {
    const worker = {
      workerId,
      name: workerId,
      pool: "default",
      handlers: ["echo"],
      capabilities: [],
      slots: 1,
      prefetch: 0,
      ...profile,
    };
    this.up(worker);
    return this.credit(workerId, worker.slots + worker.prefetch);
  }

  /** Introduces a worker as its gateway does, which keeps its count of credits. */
  up(worker: WorkerProfile, holds: HeldAttempt[] = [], { connection = 1, account = 1 } = {}): this {
    const { term } = this.state;
    return this.gateway({ kind: "WORKER_UP", term, worker, connection, account, holds });
  }

  lose(workerId: string, reason = "test", connection = 1): this {
    return this.gateway({ kind: "WORKER_LOST", workerId, connection, reason });
  }

  credit(workerId: string, more: number): this {
    const granted = (this.#granted.get(workerId) ?? 0) + more;
    this.#granted.set(workerId, granted);
    const credits = [{ workerId, account: 1, granted, highest: 0, missing: [] }];
    return this.gateway({ kind: "CREDITS", term: this.state.term, roll: false, credits });
  }

  /** Reports the end of an assignment, which frees its slot. */
  finish(assign: Assignment, report: Partial<FinishedAttempt> = {}): this {
    return this.tell(this.finished(assign, report)).credit(assign.workerId, 1);
  }

  /** Message about the end of an assignment. */
  finished({ shard, executionId, attempt, workerId }: Assignment, report: Partial<FinishedAttempt> = {}): Input {
    const times = { startedAt: this.now, finishedAt: this.now };
    const end = { state: "SUCCEEDED", result: null, error: null, advice: null } as const;
    const results = [{ shard, executionId, attempt, workerId, ...times, ...end, ...report }];
    return { kind: "GATEWAY", from: GATEWAY, message: { kind: "FINISHED", results } };
  }

  started(assign: Assignment): this {
    const { shard, executionId, attempt, workerId } = assign;
    return this.gateway({
      kind: "STARTED",
      tokens: [{ shard, executionId, attempt, workerId, startedAt: this.now }],
    });
  }

  /** Delivers all the machine's messages about permits to the machine itself, as if it coordinated every pool. */
  exchangePermits(): this {
    for (let letter = this.letters.shift(); letter !== undefined; letter = this.letters.shift()) {
      this.tell({ kind: "PERMIT", from: "node-1", message: letter.message });
    }
    return this;
  }

  /** Commits the batch. @returns the batch */
  commit(): Batch {
    const batch = this.batch;
    this.batch = sealBatch(batch);
    this.tell({ kind: "FREED", freed: batch.freed });
    return batch;
  }

  /** Commits the batch. @returns ids of the assigned executions, in order */
  assigned(): string[] {
    return this.commit().assigns.map((assign) => assign.executionId);
  }
}

export function changesOf(batch: Batch): RowChange[] {
  return [...batch.shards.values()].flatMap((draft) => [...draft.changes.values()]);
}

export function answersOf(batch: Batch): ToApi[] {
  return batch.toApi.map(({ message }) => message);
}

export function ordersOf(batch: Batch): ToGateway[] {
  return batch.toGateway.map(({ message }) => message);
}

/** The single item of a list; fails if there is not exactly one. */
export function only<T>(items: readonly T[]): T {
  assert.equal(items.length, 1);
  return items[0] as T;
}

let made = 0;

/** An execution that is ready at the start of the story. */
export function candidate(
  fields: Partial<Omit<Candidate, "policy">> & { policy?: Partial<ExecutionPolicy> } = {},
): Candidate {
  const id = fields.id ?? `execution-${String(++made).padStart(6, "0")}`;
  const jobId = fields.jobId ?? `job-of-${id}`;
  const concurrencyKey = fields.concurrencyKey ?? null;
  const dueAt = fields.dueAt ?? START;
  const priority = fields.priority ?? 5;
  return {
    id,
    jobId,
    shard: shardOf(shardKey("default", concurrencyKey, jobId)),
    tenant: "default",
    pool: "default",
    handler: "echo",
    requires: [],
    concurrencyKey,
    concurrencyLimit: 1,
    hasUniqueKey: false,
    priority,
    rank: rankOf(DEFAULT_ORDERING, dueAt, priority),
    dueAt,
    scheduledAt: dueAt,
    jobVersion: 1,
    payloadBytes: 0,
    state: "PENDING",
    queue: dueAt > START ? "WAITING" : "READY",
    attempt: 0,
    failures: 0,
    lost: 0,
    startedAt: null,
    ...fields,
    policy: { ...DEFAULT_POLICY, ...fields.policy },
  };
}
