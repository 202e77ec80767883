import type { EpochMs, ExecutionId } from "../domain/ids.ts";
import type { AuditNote } from "./store-audit.ts";
import type { BoundedCount, Listing, Page } from "./store-queries.ts";

/** Largest number of runs of a tenant that have not ended. */
export const OPEN_RUNS_MAX = 10;

/**
 * Runs that cancel or retry all executions which match a filter. The store keeps how far a run is; a node carries it out,
 * one chunk after the other. A chunk is stored before the node works on it, with the ids of the executions that retries
 * create, so that another node repeats the same work after a crash.
 */
export interface StoreExecutionRuns {
  /** Stores a run. A repeat with the same key gets the first run again. */
  begin(run: NewExecutionRun, note?: AuditNote): Promise<BeginOutcome>;
  get(tenant: string, runId: string): Promise<ExecutionRun | null>;
  /** Runs by descending id. */
  list(tenant: string, page: Page): Promise<Listing<ExecutionRun>>;
  /** Ends a run before its time. The chunk in hand still counts. A repeat changes nothing. @returns null: there is no such run */
  stop(tenant: string, runId: string, at: EpochMs, note?: AuditNote): Promise<ExecutionRun | null>;
  /** Ids of runs of all tenants that have not ended and that no node holds, up to 100, those first that were held least recently. */
  open(now: EpochMs): Promise<string[]>;
  /** Gives a run to a node until `until`. Its former holder can no longer write. @returns null: the run has ended, or a node holds it */
  take(runId: string, now: EpochMs, until: EpochMs): Promise<HeldRun | null>;
  /** Stores the next chunk, and holds the run until `until`. @returns false: the run has ended, or another node has it */
  plan(held: Held, chunk: Chunk, until: EpochMs): Promise<boolean>;
  /**
   * Adds the outcome of the chunk, and puts the marker behind it. The chunk of a run that was stopped counts, too.
   * @param isOver whether nothing is left to do
   * @returns false: the run has ended, or another node has it
   */
  account(held: Held, outcome: ChunkOutcome, at: EpochMs, isOver: boolean): Promise<boolean>;
}

export type ExecutionRunAction = "CANCEL" | "RETRY";

export interface NewExecutionRun {
  /** UUIDv7 of the run. */
  runId: string;
  tenant: string;
  action: ExecutionRunAction;
  /** JSON of the filter, as a request of the api has it. */
  filter: string;
  /** null: none. */
  idempotencyKey: string | null;
  /** Executions that matched at the start; null: not counted. */
  expected: BoundedCount | null;
  /** Start of the run. The run ignores executions that are created later. */
  createdAt: EpochMs;
}

export type BeginOutcome =
  | { kind: "BEGUN" | "KNOWN"; run: ExecutionRun }
  /** The key belongs to a run with another action or filter. */
  | { kind: "KEY_REUSED" }
  /** The tenant has too many runs that have not ended. */
  | { kind: "TOO_MANY" };

export interface ExecutionRun extends Omit<NewExecutionRun, "idempotencyKey"> {
  /** Executions cancelled or retried. */
  done: number;
  /** Executions left as they are, by the name of the problem. */
  refusals: Readonly<Record<string, number>>;
  isStopped: boolean;
  /** null: the run has not ended. */
  finishedAt: EpochMs | null;
}

/** The right of a node to write the progress of a run. */
export interface Held {
  runId: string;
  /** Number of the take. */
  turn: number;
}

export interface HeldRun extends Held {
  run: ExecutionRun;
  /** Id behind which the run continues, as `after` of a page; null: the run begins. */
  marker: string | null;
  /** Chunk whose outcome is not stored; null: none. */
  chunk: Chunk | null;
}

export interface Chunk {
  items: readonly ChunkItem[];
  /** Marker after the chunk; null: the chunk is the last one. */
  next: string | null;
}

export interface ChunkItem {
  executionId: ExecutionId;
  /** Id of the execution that a retry creates. */
  newId: ExecutionId;
}

export interface ChunkOutcome {
  done: number;
  refusals: Readonly<Record<string, number>>;
  next: string | null;
}

/** Sum of two counts by name. */
export function added(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum = new Map(Object.entries(one));
  for (const [name, count] of Object.entries(other)) sum.set(name, (sum.get(name) ?? 0) + count);
  return Object.fromEntries(sum);
}
