import { nowMs, pause } from "../../clock.ts";
import { childrenOf } from "../../meter/process-cpu.ts";
import type { Database } from "../../services/postgres.ts";
import type { ForkedWorker } from "../../worker/forked-worker.ts";
import { RigWorkers } from "../../worker/rig-workers.ts";
import type { BenchJob, Processes, Recount, Rig, Statistics } from "../contender.ts";
import { settled } from "../settled.ts";
import type { HttpLoad } from "./http-load.ts";

export interface MainspringParts {
  /** One for each node; jobs go to them in turn. */
  loads: readonly HttpLoad[];
  /** null: the embedded store, which only its server knows. */
  database: Database | null;
  /** Where workers connect, of each node. */
  grpcAddresses: readonly string[];
  worker: ForkedWorker;
  /** Empty where the server lives in the worker's process. */
  serverPids: readonly number[];
  openWorker(): Promise<ForkedWorker>;
  /** How its worker is kept from work: see `hold`. */
  heldBy: "POOL" | "WORKER";
  close(): Promise<void>;
}

/** As rows say it: 4 is SUCCEEDED, and times are milliseconds. */
const RECOUNT = `SELECT count(*) FILTER (WHERE state = 4) AS finished,
  count(*) FILTER (WHERE state <> 4 AND due_at <= extract(epoch FROM now()) * 1000) AS unfinished FROM mainspring.executions`;

/** 1 is PENDING. */
const READY = "SELECT count(*) FROM mainspring.executions WHERE state = 1";

/** Within a second the only node knows that a pool is paused; more on a slow machine. */
const OBEYED_MS = 3_000;
/** Asking the server is a part of the load. */
const ASK_EVERY_MS = 5;
/** Counting rows is a larger one. */
const RECOUNT_EVERY_MS = 1_000;

/** Mainspring in any of its forms, set up. */
export class MainspringRig implements Rig {
  readonly worker: ForkedWorker;
  readonly ledger: Rig["ledger"];
  readonly statementsDuring: Rig["statementsDuring"];
  readonly #parts: MainspringParts;
  readonly anotherWorker: Rig["anotherWorker"];
  readonly #workers: RigWorkers;
  #turn = 0;

  constructor(parts: MainspringParts) {
    this.#parts = parts;
    this.worker = parts.worker;
    this.#workers = new RigWorkers(parts.worker, () => parts.openWorker());
    this.anotherWorker = this.#workers.another;
    const { database } = parts;
    this.ledger = database === null ? null : () => database.ledger();
    this.statementsDuring = database === null ? null : (work) => database.statementsDuring(work);
  }

  get grpcAddresses(): readonly string[] {
    return this.#parts.grpcAddresses;
  }

  /**
   * Pauses the pool: a worker that is stopped and started has a new thread for its connection, which begins with cold code.
   * But nodes hear of the resumed pool one after the other, in the course of a second, so there it is the worker that stops.
   */
  async hold(): Promise<void> {
    if (this.#parts.heldBy === "WORKER") return await this.#workers.hold();
    await this.#load().pausePool(true);
    await pause(OBEYED_MS);
  }

  release(): Promise<void> {
    return this.#parts.heldBy === "WORKER" ? this.#workers.release() : this.#load().pausePool(false);
  }

  submit(job: BenchJob): Promise<void> {
    return this.#load().submit(job);
  }

  submitBatch(jobs: readonly BenchJob[]): Promise<void> {
    return this.#load().submitBatch(jobs);
  }

  submitRecurring(count: number, recurs: { everySec: number; startAt: string }): Promise<void> {
    return this.#load().submitRecurring(count, recurs);
  }

  /** Executions that a worker could have at once. Only with a database. */
  async countReady(): Promise<number> {
    const { rows } = (await this.#parts.database?.client.query<{ count: string }>(READY)) ?? { rows: [] };
    return Number(rows[0]?.count);
  }

  async settled(finished: number): Promise<number> {
    let recountedAtMs = nowMs();
    // Nodes do not count what was written although their lease had run out before the answer came.
    const ask = async () => {
      const counted = await this.#counted();
      const isShort = this.#parts.loads.length > 1 && counted.finished < finished;
      if (!isShort || nowMs() - recountedAtMs <= RECOUNT_EVERY_MS) return counted;
      recountedAtMs = nowMs();
      return await this.recount(finished);
    };
    return (await settled(finished, ASK_EVERY_MS, ask)).answeredAtMs;
  }

  async recount(finished: number): Promise<Recount> {
    const { database } = this.#parts;
    if (database === null) return await this.#counted();
    const { rows } = await database.client.query<{ finished: string; unfinished: string }>(RECOUNT);
    return { finished: Number(rows[0]?.finished ?? finished), unfinished: Number(rows[0]?.unfinished) };
  }

  processes(): Processes {
    const { serverPids, database } = this.#parts;
    const store = database === null ? serverPids.flatMap(childrenOf) : [database.pid];
    return { server: serverPids, worker: this.#workers.pids, store };
  }

  /** Nobody can ask it of the embedded store. */
  async vacuum(statistics: Statistics): Promise<void> {
    await this.#parts.database?.vacuum(statistics);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { loads, database, close } = this.#parts;
    for (const load of loads) await load.close();
    await this.#workers[Symbol.asyncDispose]();
    await close();
    await database?.drop();
  }

  /** Each node counts what it committed, and nothing else. */
  async #counted(): Promise<Recount> {
    const counts = await Promise.all(this.#parts.loads.map((load) => load.succeeded()));
    return { finished: counts.reduce((sum, count) => sum + count, 0), unfinished: 0 };
  }

  #load(): HttpLoad {
    const { loads } = this.#parts;
    return loads[this.#turn++ % loads.length] as HttpLoad;
  }
}
