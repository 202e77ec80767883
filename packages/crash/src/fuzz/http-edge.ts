import { Worker } from "node:worker_threads";
import { startTarget } from "../hostile/target.ts";
import type { FuzzedEdge, RunningEdge } from "./fuzzed.ts";

/** HTTP API of a server with a store of its own: whatever the input, no answer may be a server error. */
export const httpEdge: FuzzedEdge = { name: "http", start };

/** Outcome of one input. */
export interface Answered {
  seed: number;
  /** Fault of the answer; null: the answer was correct. */
  fault: string | null;
}

async function start(): Promise<RunningEdge> {
  const target = await startTarget({ MAINSPRING_LOG_LEVEL: "silent", MAINSPRING_BUILTIN_WORKER: "off" });
  const client = new Worker(new URL("http-client-thread.ts", import.meta.url), { workerData: target.port });
  const waiting = new Map<number, (fault: string | null) => void>();
  client.on("message", ({ seed, fault }: Answered) => {
    waiting.get(seed)?.(fault);
    waiting.delete(seed);
  });
  return {
    try: (seed) =>
      new Promise((resolve) => {
        waiting.set(seed, resolve);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        client.postMessage(seed);
      }),
    stop: async () => {
      await client.terminate();
      await target.stop();
    },
  };
}
