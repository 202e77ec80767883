import { loadPeer } from "../../peers.ts";

interface JobSpec {
  identifier: string;
  payload: unknown;
  runAt?: Date;
}

/** Part of Graphile Worker that the benchmark uses. */
export interface GraphileWorker {
  run(options: { preset: Preset; taskList: Record<string, (payload: never) => unknown> }): Promise<{
    stop(): Promise<void>;
  }>;
  makeWorkerUtils(options: { preset: Preset }): Promise<{
    migrate(): Promise<void>;
    addJob(identifier: string, payload: unknown, spec?: { runAt?: Date }): Promise<unknown>;
    addJobs(jobs: readonly JobSpec[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  Logger: new (factory: () => () => void) => unknown;
}

interface Preset {
  worker: Record<string, unknown>;
}

export interface GraphileSettings {
  url: string;
}

export const loadGraphile = () => loadPeer<GraphileWorker>("graphile-worker");

/** Settings from its documentation's page on performance, and from its own benchmark. */
export const GRAPHILE = { concurrentJobs: 24, localQueue: 500, batchDelayMs: 0 };

export function presetFor(graphile: GraphileWorker, url: string, maxPoolSize: number): Preset {
  return { worker: { connectionString: url, maxPoolSize, logger: new graphile.Logger(() => () => {}) } };
}
