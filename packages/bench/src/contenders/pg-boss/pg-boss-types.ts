import { loadPeer } from "../../peers.ts";

/** Part of pg-boss that the benchmark uses. */
export interface Boss {
  on(event: "error", hear: (error: Error) => void): void;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean; timeout?: number }): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object, options?: { startAfter?: Date }): Promise<string | null>;
  flow(jobs: readonly FlowJob[]): Promise<unknown>;
  insert(name: string, jobs: readonly { data: object; startAfter?: Date }[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: { data: Payload }[]) => Promise<void>): Promise<string>;
  offWork(name: string): Promise<void>;
}

interface Payload {
  n: number;
  holdMs?: number;
}

interface FlowJob {
  /** Name within the workflow. */
  ref: string;
  /** Name of the queue. */
  name: string;
  data: object;
  dependsOn: readonly string[];
}

export interface BossSettings {
  url: string;
  workers: number;
  /** Interval of the polls for nodes whose dependencies have finished, in seconds; absent: its default, 5. */
  flowIntervalSeconds?: number;
}

export const BATCH = 1_000;

export async function newBoss(options: object): Promise<Boss> {
  const { PgBoss } = await loadPeer<{ PgBoss: new (options: object) => Boss }>("pg-boss");
  const boss = new PgBoss(options);
  boss.on("error", (error) => console.error("pg-boss:", error.message));
  return boss;
}
