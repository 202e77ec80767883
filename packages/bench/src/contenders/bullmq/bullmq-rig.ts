import { nowMs } from "../../clock.ts";
import type { Redis } from "../../services/redis.ts";
import type { ForkedWorker } from "../../worker/forked-worker.ts";
import { RigWorkers } from "../../worker/rig-workers.ts";
import type { BenchFlow, BenchJob, Processes, Recount, Rig, SettleOptions } from "../contender.ts";
import { settledByAsking } from "../settled.ts";
import type { FlowProducer, Queue, RedisClient } from "./bullmq-types.ts";
import { treeOf } from "./flow-tree.ts";

interface BullMqParts {
  redis: Redis;
  queue: Queue;
  flows: FlowProducer;
  client: RedisClient;
  worker: ForkedWorker;
  openWorker(): Promise<ForkedWorker>;
}

/** Interval of recounts, in milliseconds: Redis answers from the lengths of its lists, however many jobs there are. */
const ASK_EVERY_MS = 5;

/** Running BullMQ contender: a Redis and a worker's process. */
export class BullMqRig implements Rig {
  readonly worker: ForkedWorker;
  readonly #parts: BullMqParts;
  readonly holdSnapshot = null;
  readonly hold: Rig["hold"];
  readonly release: Rig["release"];
  readonly anotherWorker: Rig["anotherWorker"];
  readonly #workers: RigWorkers;

  constructor(parts: BullMqParts) {
    this.#parts = parts;
    this.worker = parts.worker;
    this.#workers = new RigWorkers(parts.worker, () => parts.openWorker());
    this.hold = this.#workers.hold;
    this.release = this.#workers.release;
    this.anotherWorker = this.#workers.another;
  }

  async submit(job: BenchJob): Promise<void> {
    const { name, data, opts } = addedOf(job);
    await this.#parts.queue.add(name, data, opts);
  }

  async submitBatch(jobs: readonly BenchJob[]): Promise<void> {
    await this.#parts.queue.addBulk(jobs.map(addedOf));
  }

  async submitFlow(flow: BenchFlow): Promise<void> {
    await this.#parts.flows.add(treeOf(flow));
  }

  settled(finished: number, options: SettleOptions): Promise<number> {
    return settledByAsking(ASK_EVERY_MS, { ...options, finished, recount: (count) => this.recount(count) });
  }

  /** Recounts jobs that are due; jobs that wait for a later time do not count. */
  async recount(finished: number): Promise<Recount> {
    const states = ["waiting", "waiting-children", "active", "prioritized", "failed", "paused"];
    const counts = await this.#parts.queue.getJobCounts(...states);
    const unfinished = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { unfinished, finished: finished - unfinished };
  }

  processes(): Processes {
    return { server: [], worker: this.#workers.pids, store: [this.#parts.redis.pid] };
  }

  /** Redis counts commands, not transactions. */
  readonly ledger = async () => {
    const [logBytes, begun, underWay] = await Promise.all(
      ["aof_current_size", "aof_rewrites", "aof_rewrite_in_progress"].map((field) => this.#info("persistence", field)),
    );
    return { logBytes: logBytes ?? 0, rewrites: (begun ?? 0) - (underWay ?? 0), writes: null };
  };

  readonly statementsDuring = async (work: () => Promise<void>) => {
    const before = await this.#info("stats", "total_commands_processed");
    await work();
    return (await this.#info("stats", "total_commands_processed")) - before;
  };

  /** Redis has no vacuum. */
  async vacuum(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workers[Symbol.asyncDispose]();
    await this.#parts.queue.close();
    await this.#parts.flows.close();
    this.#parts.client.disconnect();
    await this.#parts.redis[Symbol.asyncDispose]();
  }

  async #info(section: string, field: string): Promise<number> {
    const text = await this.#parts.client.info(section);
    return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(text)?.[1] ?? 0);
  }
}

function addedOf({ n, holdMs, runAtMs, filler }: BenchJob) {
  const data = holdMs === undefined && filler === undefined ? { n } : { n, holdMs, filler };
  const opts = runAtMs === undefined ? {} : { delay: Math.max(0, Math.round(runAtMs - nowMs())) };
  return { name: "noop", data, opts };
}
