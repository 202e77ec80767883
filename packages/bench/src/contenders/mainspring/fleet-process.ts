import { createWorkerCore, task, type WorkerLife } from "@mainspring/sdk/worker-core";
import { systemRuntime } from "@mainspring/server";
import { serveWorker } from "../../worker/serve-worker.ts";
import { http2Link } from "./http2-link.ts";

/** Process with many workers, each with its own connection, session, executor and heartbeats. */
interface Settings {
  /** Addresses of all gateways; each worker uses one of them. */
  addresses: readonly string[];
  workers: number;
  slots: number;
  /** Number of the first worker, for the names. */
  from: number;
}

/** Number of workers that connect at once. */
const AT_ONCE = 50;

await serveWorker<Settings>(async ({ addresses, workers, slots, from }, tally) => {
  const runtime = systemRuntime();
  const noop = task({ name: "noop", run: (job: { n: number }) => tally.ran(job) });
  const lives: WorkerLife[] = [];
  for (let index = 0; index < workers; index++) {
    const profile = { workerId: runtime.uuid(), name: `fleet-${from + index}`, pool: "default", capabilities: [] };
    const warn = (message: string) => console.error(`fleet-${from + index}: ${message}`);
    const link = http2Link(addresses[(from + index) % addresses.length] ?? "");
    lives.push(createWorkerCore({ ...profile, slots, prefetch: 0, tasks: [noop], runtime, warn }, link));
  }
  return {
    start: async () => {
      for (let done = 0; done < lives.length; done += AT_ONCE) {
        await Promise.all(lives.slice(done, done + AT_ONCE).map((life) => life.start()));
      }
    },
    stop: async () => {
      await Promise.all(lives.map((life) => life.stop()));
    },
  };
});
