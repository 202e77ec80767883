import type { Database } from "../services/postgres.ts";
import type { ForkedWorker } from "../worker/forked-worker.ts";
import { RigWorkers } from "../worker/rig-workers.ts";
import type { BenchJob, Processes, Recount, Rig, Statistics } from "./contender.ts";
import { settled } from "./settled.ts";

export interface PostgresRigParts {
  database: Database;
  worker: ForkedWorker;
  openWorker(): Promise<ForkedWorker>;
  /** A statement that gives `finished` and `unfinished`, of what is due. */
  recount: string;
  /** false: a finished job is deleted, and `finished` is what is not left. */
  keepsFinished: boolean;
  submit(job: BenchJob): Promise<void>;
  submitBatch(jobs: readonly BenchJob[]): Promise<void>;
  close(): Promise<void>;
}

/** Counting rows costs the store more than counting itself; it begins when all handlers have run. */
const ASK_EVERY_MS = 10;

/** A peer that lives in PostgreSQL and in its worker's process. */
export class PostgresRig implements Rig {
  readonly worker: ForkedWorker;
  readonly submit: Rig["submit"];
  readonly submitBatch: Rig["submitBatch"];
  readonly ledger: Rig["ledger"];
  readonly statementsDuring: Rig["statementsDuring"];
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
    this.ledger = () => parts.database.ledger();
    this.statementsDuring = (work) => parts.database.statementsDuring(work);
    this.#workers = new RigWorkers(parts.worker, () => parts.openWorker());
    this.hold = this.#workers.hold;
    this.release = this.#workers.release;
    this.anotherWorker = this.#workers.another;
  }

  async settled(finished: number): Promise<number> {
    return (await settled(finished, ASK_EVERY_MS, (count) => this.recount(count))).askedAtMs;
  }

  async recount(finished: number): Promise<Recount> {
    const { database, recount, keepsFinished } = this.#parts;
    const { rows } = await database.client.query<{ finished: string; unfinished: string }>(recount);
    const unfinished = Number(rows[0]?.unfinished);
    return { unfinished, finished: keepsFinished ? Number(rows[0]?.finished) : finished - unfinished };
  }

  processes(): Processes {
    return { server: [], worker: this.#workers.pids, store: [this.#parts.database.pid] };
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
