import type { Stage } from "../services/stage.ts";
import type { ForkedWorker } from "../worker/forked-worker.ts";

/** A job of the benchmark. What it does is nothing, but for holding its slot where that is said. */
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

/** What the store has written so far. */
export interface Ledger {
  /** Its log: the WAL, the append-only file. */
  readonly logBytes: number;
  /** Transactions that wrote; null where it does not tell them. */
  readonly writes: number | null;
}

/** Something that is measured: Mainspring in one of its forms, or a peer. */
export interface Contender {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** How it was set up, in a line. */
  readonly settings: string;
  readonly isPeer: boolean;
  readonly hasCapabilities: boolean;
  /** On an empty store of its own. */
  open(stage: Stage, options?: OpenOptions): Promise<Rig>;
}

/** Who takes part; process ids. With a store's all of its descendants count. */
export interface Processes {
  readonly server: readonly number[];
  readonly worker: readonly number[];
  readonly store: readonly number[];
}

/** What the store says that it has of all jobs since the rig was opened. */
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
  /** @returns when the store has that many finished in all */
  settled(finished: number): Promise<void>;
  /** @param finished how many there should be; a store that deletes what has finished can only say what is left */
  recount(finished: number): Promise<Recount>;
  processes(): Processes;
  /** null where nobody can ask the store. */
  readonly ledger: (() => Promise<Ledger>) | null;
  /** How many statements the store was given meanwhile; null where nobody can ask it. */
  readonly statementsDuring: ((work: () => Promise<void>) => Promise<number>) | null;
  /** Has the store take fresh statistics, where it has such a thing. */
  analyze(): Promise<void>;
  /** Another worker process like `worker`. */
  anotherWorker(): Promise<ForkedWorker>;
}
