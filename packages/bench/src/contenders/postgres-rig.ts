import type { Database } from "../services/postgres.ts";
import type { ForkedWorker } from "../worker/forked-worker.ts";
import { RigWorkers } from "../worker/rig-workers.ts";
import type { BenchFlow, BenchJob, Processes, Recount, Rig, SettleOptions, Statistics } from "./contender.ts";
import { settledStore } from "./settled.ts";

export interface PostgresRigParts {
  database: Database;
  worker: ForkedWorker;
  openWorker(): Promise<ForkedWorker>;
  /** Process that submits jobs; absent: the benchmark's own. */
  clientPid?: number;
  /** Statement that returns `finished` and `unfinished` of all due jobs. */
  recount: string;
  /** Whether finished jobs stay; false: they are deleted, and `finished` is the number of missing ones. */
  keepsFinished: boolean;
  submit(job: BenchJob): Promise<void>;
  submitBatch(jobs: readonly BenchJob[]): Promise<void>;
  /** Absent: the peer has no workflows. */
  submitFlow?(flow: BenchFlow): Promise<void>;
  close(): Promise<void>;
}

/** A peer that runs in PostgreSQL and in its worker's process. */
export class PostgresRig implements Rig {
  readonly worker: ForkedWorker;
  readonly submit: Rig["submit"];
  readonly submitBatch: Rig["submitBatch"];
  readonly submitFlow: Rig["submitFlow"];
  readonly ledger: Rig["ledger"];
  readonly statementsDuring: Rig["statementsDuring"];
  readonly holdSnapshot: Rig["holdSnapshot"];
  readonly #parts: PostgresRigParts;
  readonly hold: Rig["hold"];
  readonly release: Rig["release"];
  readonly anotherWorker: Rig["anotherWorker"];
  readonly #workers: RigWorkers;

  constructor(parts: PostgresRigParts) {
    this.#parts = parts;
    this.worker = parts.worker;
    this.submit = parts.submit;
    this.submitBatch = parts.submitBatch;
    this.submitFlow = parts.submitFlow ?? null;
    this.ledger = () => parts.database.ledger();
    this.holdSnapshot = () => parts.database.holdSnapshot();
    this.statementsDuring = (work) => parts.database.statementsDuring(work);
    this.#workers = new RigWorkers(parts.worker, () => parts.openWorker());
    this.hold = this.#workers.hold;
    this.release = this.#workers.release;
    this.anotherWorker = this.#workers.another;
  }

  settled(finished: number, options: SettleOptions): Promise<number> {
    return settledStore(this.#parts.database, { ...options, finished, recount: (count) => this.recount(count) });
  }

  async recount(finished: number): Promise<Recount> {
    const { database, recount, keepsFinished } = this.#parts;
    const { rows } = await database.client.query<{ finished: string; unfinished: string }>(recount);
    const unfinished = Number(rows[0]?.unfinished);
    return { unfinished, finished: keepsFinished ? Number(rows[0]?.finished) : finished - unfinished };
  }

  processes(): Processes {
    const { database, clientPid } = this.#parts;
    const client = clientPid === undefined ? [] : [clientPid];
    return { server: [], worker: this.#workers.pids, store: [database.pid], client };
  }

  vacuum(statistics: Statistics): Promise<void> {
    return this.#parts.database.vacuum(statistics);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workers[Symbol.asyncDispose]();
    await this.#parts.close();
    await this.#parts.database.drop();
  }
}
