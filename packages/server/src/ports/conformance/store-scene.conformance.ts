import assert from "node:assert/strict";
import type { Candidate } from "../../domain/execution.ts";
import {
  type Epoch,
  type EpochMs,
  firstExecutionId,
  type Incarnation,
  SHARD_COUNT,
  type ShardId,
  shardOf,
} from "../../domain/ids.ts";
import { DEFAULT_POLICY, type JobDefinition } from "../../domain/job.ts";
import { laneHash } from "../../domain/lane.ts";
import type { Runtime } from "../runtime.ts";
import type {
  AcceptedJob,
  JournalEntry,
  NewJob,
  RowChange,
  ShardCommit,
  ShardHolder,
  ShardOutcome,
  Store,
} from "../store.ts";
import { QueryUnserved, type UnservedQuery } from "../store-errors.ts";

/** A store, with the clock and ids for its tests. */
interface Stage {
  store: Store;
  runtime: Runtime;
  /** Largest submission that the store takes, in jobs; left out: the tests reach no limit. */
  submissionMax?: number;
  /** Queries that the store does not serve; left out: it serves all. */
  unserved?: ReadonlySet<UnservedQuery>;
  close(): Promise<void>;
}

/** An empty store under test. */
export interface StoreUnderTest extends Stage {
  /** Adds requests for jobs, as the commit of an application's transaction does. @returns their ids, in order */
  addRequests(requests: readonly NewRequest[]): Promise<string[]>;
}

export interface NewRequest {
  body: string;
  /** Left out: none. */
  idempotencyKey?: string;
}

/** @param isTelling whether the node writes lifecycle events; default: no */
export type MakeStore = (isTelling?: boolean) => Promise<StoreUnderTest>;

export const TENANT = "default";
export const ALL_SHARDS: readonly ShardId[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** Fields of a job that a test sets; the rest has usual values. */
export type JobSample = Partial<Omit<NewJob, "definition">> & Partial<JobDefinition>;

/** Takes over the shards, whatever their epochs are. */
export async function takeShards(store: Store, shards: readonly ShardId[], owner: Incarnation): Promise<Epoch[]> {
  const holders = await store.readShards();
  const seen = shards.map((shard) => holders[shard] as ShardHolder);
  return (await store.takeOver(seen, owner)).map((epoch) => epoch as Epoch);
}

/** Commit of one shard under this epoch; a field that is left out is empty. */
export function shardCommit(shard: ShardId, epoch: Epoch, parts: Partial<ShardCommit>): ShardCommit {
  return {
    shard,
    epoch,
    changes: [],
    assigned: [],
    journalSeq: 1,
    settledJournals: [],
    expected: [],
    plans: [],
    commandsDone: [],
    commands: [],
    steps: [],
    runs: [],
    births: [],
    ...parts,
  };
}

/** A store with an owner of its shards, and the operations that the tests use. */
export class Scene {
  readonly store: Store;
  readonly runtime: Runtime;
  /** Largest submission that the store takes, in jobs. */
  readonly submissionMax: number;
  readonly #unserved: ReadonlySet<UnservedQuery>;
  readonly #asked = new Set<UnservedQuery>();
  readonly #epochs = new Map<ShardId, Epoch>();
  #seq = 0;

  static async open(underTest: Stage): Promise<Scene> {
    const scene = new Scene(underTest);
    await scene.takeOver();
    return scene;
  }

  private constructor({ store, runtime, submissionMax = Number.POSITIVE_INFINITY, unserved = new Set() }: Stage) {
    this.store = store;
    this.runtime = runtime;
    this.submissionMax = submissionMax;
    this.#unserved = unserved;
  }

  /** Queries that the cases of this scene have needed. */
  get asked(): ReadonlySet<UnservedQuery> {
    return this.#asked;
  }

  /** Runs a case that needs a query. Where the store does not serve the query, the case must fail with just that. */
  async served(query: UnservedQuery, run: () => Promise<void>): Promise<void> {
    this.#asked.add(query);
    if (!this.#unserved.has(query)) return await run();
    await assert.rejects(run(), (error: Error) => error instanceof QueryUnserved && error.query === query);
  }

  /** Makes a new owner, whose epochs the next commits use. */
  async takeOver(shards: readonly ShardId[] = ALL_SHARDS, owner = this.runtime.uuid()): Promise<Incarnation> {
    const epochs = await takeShards(this.store, shards, owner);
    for (const [i, shard] of shards.entries()) this.#epochs.set(shard, epochs[i] as Epoch);
    return owner;
  }

  epochOf(shard: ShardId): Epoch {
    return this.#epochs.get(shard) as Epoch;
  }

  job(sample: JobSample = {}): NewJob {
    const { jobId = this.runtime.uuid(), createdAt = this.runtime.now() } = sample;
    const definition = definitionOf(sample, createdAt);
    return {
      jobId,
      executionId: sample.executionId ?? firstExecutionId(jobId),
      tenant: TENANT,
      shard: shardOf(jobId),
      definition,
      rank: definition.scheduledAt,
      laneHash: laneHash({ ...definition, tenant: sample.tenant ?? TENANT }),
      queue: definition.scheduledAt > createdAt ? "WAITING" : "READY",
      payload: null,
      createdAt,
      ...pick(sample, ["tenant", "shard", "rank", "laneHash", "queue", "payload"]),
    };
  }

  /** Submits one job alone, which must be accepted. */
  async submitted(sample: JobSample = {}): Promise<NewJob> {
    const job = this.job(sample);
    assert.deepEqual(await this.store.submit([{ idempotency: null, jobs: [job] }]), [accepted(job)]);
    return job;
  }

  /** Change that an owner makes at the end of a first attempt that succeeded. */
  succeeded(job: NewJob, change: Partial<RowChange> = {}): RowChange {
    const now = this.runtime.now();
    return {
      ...unchanged(job, now),
      state: "SUCCEEDED",
      attempt: 1,
      queue: "NONE",
      startedAt: now,
      finishedAt: now,
      ended: [{ attempt: 1, workerId: "w1", state: "SUCCEEDED", startedAt: now, finishedAt: now, error: null }],
      ...change,
    };
  }

  /** Change that an owner makes when an attempt runs for longer than a second. */
  running(job: NewJob, change: Partial<RowChange> = {}): RowChange {
    const now = this.runtime.now();
    return {
      ...unchanged(job, now),
      state: "RUNNING",
      attempt: 1,
      queue: "HELD",
      workerId: "w1",
      gateway: "g1",
      attemptStartedAt: now,
      startedAt: now,
      ...change,
    };
  }

  entry(job: NewJob, entry: Partial<JournalEntry> = {}): JournalEntry {
    return {
      id: job.executionId,
      attempt: 1,
      workerId: "w1",
      gateway: "g1",
      assignedAt: this.runtime.now(),
      ...entry,
    };
  }

  /** Changes that one shard writes in a tick; a field that is left out is empty. */
  tick(shard: ShardId, parts: Partial<ShardCommit> = {}): ShardCommit {
    this.#seq += 1;
    return shardCommit(shard, this.epochOf(shard), { journalSeq: this.#seq, ...parts });
  }

  /** Commits one shard's part, which must be applied without a miss or refusal. */
  async applied(shard: ShardId, parts: Partial<ShardCommit>): Promise<ShardCommit> {
    const tick = this.tick(shard, parts);
    assert.deepEqual(await this.store.commit([tick]), [applied(shard)]);
    return tick;
  }

  async ready(job: NewJob): Promise<Candidate[]> {
    return this.store.readReady(ALL_SHARDS, job.laneHash, null, 1_000);
  }
}

export function applied(shard: ShardId): ShardOutcome {
  return {
    shard,
    status: "APPLIED",
    missed: [],
    missedPlans: [],
    notCreated: [],
    missedRuns: [],
    notBorn: [],
    refused: [],
  };
}

export function fenced(shard: ShardId): ShardOutcome {
  return { ...applied(shard), status: "FENCED" };
}

export function accepted(...jobs: NewJob[]) {
  return { kind: "ACCEPTED", replayed: false, jobs: jobs.map((job) => acceptedJob(job)) };
}

export function acceptedJob({ jobId, executionId }: NewJob, deduplicated = false): AcceptedJob {
  return { jobId, executionId, deduplicated };
}

function definitionOf(sample: JobSample, createdAt: EpochMs): JobDefinition {
  const usual: JobDefinition = {
    name: null,
    pool: "default",
    handler: "echo",
    requires: [],
    priority: 5,
    scheduledAt: createdAt,
    recurrence: null,
    policy: DEFAULT_POLICY,
    concurrencyKey: null,
    concurrencyLimit: 1,
    uniqueKey: null,
    labels: {},
  };
  return { ...usual, ...pick(sample, Object.keys(usual) as (keyof JobDefinition)[]) };
}

function unchanged(job: NewJob, now: EpochMs): RowChange {
  const dueAt = Math.min(job.definition.scheduledAt, now);
  return firstChange({ id: job.executionId, rank: job.rank, dueAt }, { queue: job.queue });
}

/** First change of an execution, which waits for its first attempt; a field that is left out stays as it is. */
export function firstChange(
  { id, rank, dueAt }: Pick<Candidate, "id" | "rank" | "dueAt">,
  change: Partial<RowChange>,
): RowChange {
  return {
    ...{ id, wasState: "PENDING", wasAttempt: 0, state: "PENDING", attempt: 0, failures: 0, lost: 0 },
    ...{ queue: "READY", rank, dueAt, reason: null, workerId: null, gateway: null, attemptStartedAt: null },
    ...{ startedAt: null, finishedAt: null, result: null, error: null, ended: [], releaseUniqueKey: false },
    ...change,
  };
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {};
  for (const key of keys) if (key in from) picked[key] = from[key];
  return picked;
}
