import { loadPeer } from "../../peers.ts";

interface Added {
  name: string;
  data: object;
  opts: { delay?: number };
}

export interface Queue {
  add(name: string, data: object, opts: { delay?: number }): Promise<unknown>;
  addBulk(jobs: readonly Added[]): Promise<unknown>;
  getJobCounts(...types: string[]): Promise<Record<string, number>>;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

/** Job with the jobs that end before it begins. */
export interface FlowTree {
  name: string;
  queueName: string;
  data: { n: number };
  opts: { removeOnComplete: boolean };
  children?: FlowTree[];
}

export interface FlowProducer {
  add(flow: FlowTree): Promise<unknown>;
  close(): Promise<void>;
}

/** Part of BullMQ that the benchmark uses. */
export interface BullMq {
  Queue: new (name: string, options: object) => Queue;
  FlowProducer: new (options: object) => FlowProducer;
  Worker: new (
    name: string,
    run: (job: { data: { n: number; holdMs?: number } }) => Promise<unknown>,
    options: object,
  ) => {
    on(event: "error", hear: (error: Error) => void): void;
    waitUntilReady(): Promise<unknown>;
    close(): Promise<void>;
  };
}

export interface BullMqSettings {
  path: string;
}

export const CONCURRENCY = 100;

export const loadBullMq = () => loadPeer<BullMq>("bullmq");

/** A client of Redis, for the benchmark's own queries. */
export interface RedisClient {
  info(section: string): Promise<string>;
  disconnect(): void;
}

export async function redisClient(path: string): Promise<RedisClient> {
  const { Redis } = await loadPeer<{ Redis: new (options: object) => RedisClient }>("ioredis");
  return new Redis({ path });
}

/** Connection of a worker, which needs unlimited retries. */
export function connectionTo(path: string): object {
  return { path, maxRetriesPerRequest: null };
}
