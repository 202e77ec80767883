import type { Stage } from "../services/stage.ts";
import type { ForkedWorker } from "../worker/forked-worker.ts";

/** A job of the benchmark. The handler does nothing, except hold its slot where the case says so. */
export interface BenchJob {
  readonly n: number;
  readonly holdMs?: number;
  /** Milliseconds since 1970, whole ones; left out: now. */
  readonly runAtMs?: number;
  /** A capability that its worker must have; only where `Contender.hasCapabilities`. */
  readonly requires?: string;
}

export interface OpenOptions {
  /** How many single submits are on their way at once; default 16. */
  connections?: number;
  /** Whether jobs of a worker that died are to come back soon, at a price; only where that must be asked for. */
  comesBack?: boolean;
}

/** Bytes that the store has written so far. */
export interface Ledger {
  /** Its log: the WAL, the append-only file. */
  readonly logBytes: number;
  /** How often it has replaced the log by a shorter one; then the difference of two sizes says nothing. */
  readonly rewrites: number;
  /** Transactions that wrote; null where it does not tell them. */
  readonly writes: number | null;
}

/** Whether a store that plans by statistics is to take fresh ones. */
export type Statistics = "FRESH" | "AS_THEY_ARE";

/** Something that is measured: Mainspring in one of its forms, or a peer. */
export interface Contender {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** How it was set up, in a line. */
  readonly settings: string;
  readonly isPeer: boolean;
  /** Another setting of a peer that is there already: takes part where `Case.hasVariants`. */
  readonly isVariant?: boolean;
  readonly hasCapabilities: boolean;
  /** On an empty store of its own. */
  open(stage: Stage, options?: OpenOptions): Promise<Rig>;
}

/** Process ids of all parts. With a store's all of its descendants count. */
export interface Processes {
  readonly server: readonly number[];
  readonly worker: readonly number[];
  readonly store: readonly number[];
}

/** Counts of all jobs since the rig was opened, from the store. */
export interface Recount {
  readonly finished: number;
  /** Waiting, running, failed: all that is due and has not finished well. */
  readonly unfinished: number;
}

/** A contender that is set up: its store, its server where it has one, and one worker process that is not started. */
export interface Rig extends AsyncDisposable {
  readonly worker: ForkedWorker;
  submit(job: BenchJob): Promise<void>;
  submitBatch(jobs: readonly BenchJob[]): Promise<void>;
  /** Has the worker's process, which is started, take no job until `release`, and forget nothing of what it has compiled. */
  hold(): Promise<void>;
  release(): Promise<void>;
  /**
   * @returns when the store had that many finished in all, in milliseconds since 1970: of a peer when the question was asked
   * that was answered so, for counting rows takes it longer the more there are; of Mainspring when the answer came
   */
  settled(finished: number): Promise<number>;
  /** @param finished how many there should be; a store that deletes what has finished can only say what is left */
  recount(finished: number): Promise<Recount>;
  processes(): Processes;
  /** null where nobody can ask the store. */
  readonly ledger: (() => Promise<Ledger>) | null;
  /** How many statements the store was given meanwhile; null where nobody can ask it. */
  readonly statementsDuring: ((work: () => Promise<void>) => Promise<number>) | null;
  /** Has the store clear away what finished jobs left, as it does by itself sooner or later, and write all through. */
  vacuum(statistics: Statistics): Promise<void>;
  /** Another worker process like `worker`. */
  anotherWorker(): Promise<ForkedWorker>;
}
