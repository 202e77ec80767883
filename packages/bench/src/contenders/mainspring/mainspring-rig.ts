import { pause } from "../../clock.ts";
import { childrenOf } from "../../meter/process-cpu.ts";
import type { Database } from "../../services/postgres.ts";
import type { StoreRedis } from "../../services/store-redis.ts";
import type { ForkedWorker } from "../../worker/forked-worker.ts";
import { RigWorkers } from "../../worker/rig-workers.ts";
import type { BenchFlow, BenchJob, Processes, Recount, Rig, SettleOptions, Statistics } from "../contender.ts";
import { settledByAsking, settledStore } from "../settled.ts";
import type { HttpLoad } from "./http-load.ts";
import type { ServerProcess } from "./server-process.ts";

export interface MainspringParts {
  /** One load for each node; jobs go to the nodes in turn. */
  loads: readonly HttpLoad[];
  /** Database of the store; null: Redis, or the embedded store, which only its server knows. */
  database: Database | null;
  /** Redis that is the store; null: another one is. */
  redis: StoreRedis | null;
  /** Address of each node to which workers connect. */
  grpcAddresses: readonly string[];
  worker: ForkedWorker;
  /** Processes of the servers; empty: the server runs in the worker's process. */
  servers: readonly ServerProcess[];
  openWorker(): Promise<ForkedWorker>;
  /** Way of holding back its worker's work: see `hold`. */
  heldBy: "POOL" | "WORKER";
  close(): Promise<void>;
}

/** The state 4 is SUCCEEDED, and times are milliseconds. */
const RECOUNT = `SELECT count(*) FILTER (WHERE state = 4) AS finished,
  count(*) FILTER (WHERE state <> 4 AND due_at <= extract(epoch FROM now()) * 1000) AS unfinished FROM executions`;

/** The state 1 is PENDING. */
const READY = "SELECT count(*) FROM executions WHERE state = 1";

const ASLEEP = "SELECT count(*) FROM executions WHERE state = 1 AND reason = 'SLEEPING'";
const STEPS = "SELECT count(*) FROM execution_steps";

/** Time until a paused pool has stopped, in milliseconds: one second for the only node, and more on a slow machine. */
const OBEYED_MS = 3_000;
/** Number of recurring jobs in a request. */
const RECURRING_BATCH = 5_000;
/** Interval of questions to the server of an embedded store after its last job has finished, in milliseconds. */
const ASK_EVERY_MS = 250;

/** Mainspring in any of its forms, running. */
export class MainspringRig implements Rig {
  readonly worker: ForkedWorker;
  readonly ledger: Rig["ledger"];
  readonly statementsDuring: Rig["statementsDuring"];
  readonly holdSnapshot: Rig["holdSnapshot"];
  readonly #parts: MainspringParts;
  readonly anotherWorker: Rig["anotherWorker"];
  readonly #workers: RigWorkers;
  #turn = 0;
  /** Number of submitted workflows, each of which is an execution beside those of its nodes. */
  #runs = 0;

  constructor(parts: MainspringParts) {
    this.#parts = parts;
    this.worker = parts.worker;
    this.#workers = new RigWorkers(parts.worker, () => parts.openWorker());
    this.anotherWorker = this.#workers.another;
    const { database, redis } = parts;
    const asked = database ?? redis;
    this.ledger = asked === null ? null : () => asked.ledger();
    this.holdSnapshot = database === null ? null : () => database.holdSnapshot();
    this.statementsDuring = database === null ? null : (work) => database.statementsDuring(work);
  }

  /** URL of the first server. */
  get httpUrl(): string {
    return this.#load().url;
  }

  get grpcAddresses(): readonly string[] {
    return this.#parts.grpcAddresses;
  }

  /**
   * Holds back work by pausing the pool, because a worker that is stopped and started has a new thread for its
   * connection, with cold code. In a cluster, nodes learn of the resumed pool within a second, one after the other, so
   * there the worker stops instead.
   */
  async hold(): Promise<void> {
    if (this.#parts.heldBy === "WORKER") return await this.#workers.hold();
    await this.#load().pausePool();
    await pause(OBEYED_MS);
  }

  release(): Promise<void> {
    return this.#parts.heldBy === "WORKER" ? this.#workers.release() : this.#load().resumePool();
  }

  submit(job: BenchJob): Promise<void> {
    return this.#load().submit(job);
  }

  submitBatch(jobs: readonly BenchJob[]): Promise<void> {
    return this.#load().submitBatch(jobs);
  }

  async submitFlow(flow: BenchFlow): Promise<void> {
    await this.#load().submitFlow(flow);
    this.#runs++;
  }

  createTenant(name: string): Promise<void> {
    return this.#load().createTenant(name);
  }

  /** Submits recurring jobs in batches. @param pool default: the worker's */
  async submitRecurring(count: number, recurs: { everySec: number; startAt: string }, pool?: string): Promise<void> {
    for (let from = 0; from < count; from += RECURRING_BATCH) {
      await this.#load().submitRecurring(Math.min(RECURRING_BATCH, count - from), recurs, pool);
    }
  }

  /** Size of all tables and indexes, or of all data of Redis, in bytes. Only with one of the two. */
  async storedBytes(): Promise<number> {
    const { database, redis } = this.#parts;
    return (await (database ?? redis)?.storedBytes()) ?? Number.NaN;
  }

  /** Number of executions that a worker could get at once. Only with a database. */
  countReady(): Promise<number> {
    return this.#count(READY);
  }

  /** Number of executions that are suspended until a time. Only with a database. */
  countAsleep(): Promise<number> {
    return this.#count(ASLEEP);
  }

  /** Number of steps that are recorded. Only with a database. */
  countSteps(): Promise<number> {
    return this.#count(STEPS);
  }

  async #count(statement: string): Promise<number> {
    const { rows } = (await this.#parts.database?.client.query<{ count: string }>(statement)) ?? { rows: [] };
    return Number(rows[0]?.count);
  }

  /**
   * Waits until this number of executions are ready, as `settled` does. Only with a database.
   * @returns time of the last write, in milliseconds since 1970
   */
  settledReady(jobs: number, withinMs: number): Promise<number> {
    return this.#settledCount(jobs, () => this.countReady(), { stuck: 0, withinMs, atRest: async () => {} });
  }

  /** The same for executions that are suspended until a time. */
  settledAsleep(jobs: number, atRest: SettleOptions["atRest"]): Promise<number> {
    return this.#settledCount(jobs, () => this.countAsleep(), { stuck: 0, atRest });
  }

  async #settledCount(jobs: number, count: () => Promise<number>, options: SettleOptions): Promise<number> {
    const { database } = this.#parts;
    if (database === null) throw new Error("an embedded store cannot be asked");
    const recount = async () => ({ finished: await count(), unfinished: 0 });
    return await settledStore(database, { ...options, finished: jobs, recount });
  }

  /** Memory that the objects of all servers use after a collection, in MiB. Only with `OpenOptions.hasTeller`. */
  async usedMiB(): Promise<number> {
    const each = await Promise.all(this.#tellers().map((server) => server.usedMiB()));
    return each.reduce((sum, usedMiB) => sum + usedMiB, 0);
  }

  /** Measures blocks of the servers' event loops until `heldMs`. Only with `OpenOptions.hasTeller`. */
  watchLoops(): void {
    for (const server of this.#tellers()) server.watchLoop();
  }

  /** Longest block of a server's event loop since `watchLoops`, in milliseconds of CPU time. */
  async heldMs(): Promise<number> {
    return Math.max(...(await Promise.all(this.#tellers().map((server) => server.heldMs()))));
  }

  #tellers(): readonly ServerProcess[] {
    const { servers } = this.#parts;
    if (servers.length === 0) throw new Error("a program that is server and worker in one does not tell about itself");
    return servers;
  }

  /** Number of occupied slots of all workers, of all nodes. */
  async usedSlots(): Promise<number> {
    return (await this.#parts.loads[0]?.usedSlots()) ?? Number.NaN;
  }

  async settled(finished: number, options: SettleOptions): Promise<number> {
    const settling = { ...options, finished, recount: (count: number) => this.recount(count) };
    const { database, loads } = this.#parts;
    if (database !== null) return await settledStore(database, settling);
    // One wait for the newest job costs nothing per job. The questions that follow must not count.
    await loads[0]?.newestFinished();
    await options.atRest();
    return await settledByAsking(ASK_EVERY_MS, { ...settling, atRest: async () => {} });
  }

  async recount(finished: number): Promise<Recount> {
    const { database } = this.#parts;
    if (database === null) return await this.#counted();
    const { rows } = await database.client.query<{ finished: string; unfinished: string }>(RECOUNT);
    const counted = Number(rows[0]?.finished ?? finished);
    return { finished: counted - this.#runs, unfinished: Number(rows[0]?.unfinished) };
  }

  processes(): Processes {
    const { servers, database, redis } = this.#parts;
    const pids = servers.map(({ pid }) => pid);
    const asked = database ?? redis;
    const store = asked === null ? pids.flatMap(childrenOf) : [asked.pid];
    return { server: pids, worker: this.#workers.pids, store };
  }

  /** The embedded store cannot be asked. */
  async vacuum(statistics: Statistics): Promise<void> {
    await this.#parts.database?.vacuum(statistics);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { loads, database, redis, close } = this.#parts;
    for (const load of loads) await load.close();
    await this.#workers[Symbol.asyncDispose]();
    await close();
    await database?.drop();
    await redis?.empty();
  }

  /** Counters of the servers, which no store counts. */
  async #counted(): Promise<Recount> {
    const counts = await Promise.all(this.#parts.loads.map((load) => load.succeeded()));
    return { finished: counts.reduce((sum, count) => sum + count, 0), unfinished: 0 };
  }

  #load(): HttpLoad {
    const { loads } = this.#parts;
    return loads[this.#turn++ % loads.length] as HttpLoad;
  }
}
