import type { Stage } from "../services/stage.ts";
import type { ForkedWorker } from "../worker/forked-worker.ts";

/** A job of the benchmark. Its handler does nothing, except hold its slot if the case says so. */
export interface BenchJob {
  readonly n: number;
  readonly holdMs?: number;
  /** Planned time in whole milliseconds since 1970; absent: now. */
  readonly runAtMs?: number;
  /** Capability that a worker must have; only for contenders with `Contender.hasCapabilities`. */
  readonly requires?: string;
  /** Pool or queue other than the worker's; only for Mainspring. */
  readonly pool?: string;
  /** Tenant whose job it is, the same for all jobs of a batch; absent: the default one; only for Mainspring. */
  readonly tenant?: string;
  /** Priority; only for Mainspring. */
  readonly priority?: "CRITICAL";
  /** Text that makes the payload large. */
  readonly filler?: string;
  /** Number of durable steps that its handler runs one after another; only for Mainspring's worker process. */
  readonly steps?: number;
  /** Length of the durable sleep with which its handler begins; only for Mainspring's worker process. */
  readonly sleepMs?: number;
}

export interface OpenOptions {
  /** Number of single submits in progress at once; default 16. */
  connections?: number;
  /** Whether jobs of a dead worker must return soon, at a cost; only for contenders where that is optional. */
  comesBack?: boolean;
  /** Number of jobs that the worker runs at once; default: the contender's; only for Mainspring's worker process. */
  slots?: number;
  /** Whether the server can be asked for its memory and for blocks of its event loop; only for Mainspring's server process. */
  hasTeller?: boolean;
  /** Whether workflows are submitted, for contenders whose polls for ready nodes have an interval. */
  hasFlows?: boolean;
}

/** A workflow of jobs that do nothing. */
export interface BenchFlow {
  /** Number of the job of the first node; the others follow. */
  readonly firstN: number;
  /** Positions of the nodes that each node waits for, which come before it. */
  readonly nodes: readonly (readonly number[])[];
}

/** Bytes that the store has written so far. */
export interface Ledger {
  /** Bytes of its log: the WAL, or the append-only file. */
  readonly logBytes: number;
  /**
   * Number of times that the store replaced the log by a shorter one, after which the difference of two sizes is
   * meaningless.
   */
  readonly rewrites: number;
  /** Number of transactions that wrote; null: the store does not count them. */
  readonly writes: number | null;
}

/** Whether a store that plans by statistics shall take new ones. */
export type Statistics = "FRESH" | "AS_THEY_ARE";

/** A system that is measured: Mainspring in one of its forms, or a peer. */
export interface Contender {
  readonly name: string;
  /** Title for people. */
  readonly title: string;
  /** Settings of the contender, in one line. */
  readonly settings: string;
  readonly isPeer: boolean;
  /** Whether this is another setting of an existing contender, which takes part if `Case.hasVariants` is set. */
  readonly isVariant?: boolean;
  readonly hasCapabilities: boolean;
  /** Its workflows; absent: it has none. */
  readonly flows?: {
    /** Whether all of them are trees, where each node but the last one has one node that waits for it. */
    readonly areTrees: boolean;
    /** Whether a poll finds the nodes that are ready, and not the end of the node before. */
    readonly arePolled: boolean;
  };
  /** Whether it differs from another contender only in the settings of its worker. */
  readonly hasOwnWorkerOnly?: boolean;
  /** Starts the contender on an empty store of its own. */
  open(stage: Stage, options?: OpenOptions): Promise<Rig>;
}

/** Process ids of all parts. For a store, all of its descendants count. */
export interface Processes {
  readonly server: readonly number[];
  readonly worker: readonly number[];
  readonly store: readonly number[];
  /** Processes that submit for the benchmark, where it does not do so itself. */
  readonly client?: readonly number[];
}

/** Counts of all jobs since the rig was opened, from the store. */
export interface Recount {
  readonly finished: number;
  /** Number of jobs that are due and have not succeeded: waiting, running, failed. */
  readonly unfinished: number;
}

export interface SettleOptions {
  /** Number of due jobs that must never run. */
  readonly stuck: number;
  /** Longest wait in milliseconds; default: three minutes. */
  readonly withinMs?: number | undefined;
  /** Called when the work seems done, before a recount whose cost must not count. */
  atRest(): Promise<void>;
}

/** A running contender: its store, its server if it has one, and one worker process that is not started. */
export interface Rig extends AsyncDisposable {
  readonly worker: ForkedWorker;
  submit(job: BenchJob): Promise<void>;
  submitBatch(jobs: readonly BenchJob[]): Promise<void>;
  /** Submits a workflow; null: the contender has none. */
  readonly submitFlow: ((flow: BenchFlow) => Promise<void>) | null;
  /** Keeps the started worker process from taking jobs until `release`, without losing its compiled code. */
  hold(): Promise<void>;
  release(): Promise<void>;
  /**
   * Waits until the store has this number of finished jobs, without adding load to what is measured.
   * @returns time in milliseconds since 1970: of the last write to PostgreSQL, or of the question with that answer
   */
  settled(finished: number, options: SettleOptions): Promise<number>;
  /** @param finished expected number; a store that deletes finished jobs can only count the others */
  recount(finished: number): Promise<Recount>;
  processes(): Processes;
  /** Bytes written by the store; null: the store cannot be asked. */
  readonly ledger: (() => Promise<Ledger>) | null;
  /** Number of statements that the store received meanwhile; null: the store cannot be asked. */
  readonly statementsDuring: ((work: () => Promise<void>) => Promise<number>) | null;
  /**
   * Takes a snapshot of a PostgreSQL (REPEATABLE READ) and holds it open until it is disposed of; null: the rig knows no PostgreSQL.
   */
  readonly holdSnapshot: (() => Promise<AsyncDisposable>) | null;
  /**
   * Makes the store clear away the remains of finished jobs, as it does by itself at some time, and write everything to
   * disk.
   */
  vacuum(statistics: Statistics): Promise<void>;
  /** Starts another worker process like `worker`. */
  anotherWorker(): Promise<ForkedWorker>;
}
