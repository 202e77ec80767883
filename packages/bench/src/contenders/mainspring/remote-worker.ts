import { task, Worker } from "@mainspring/sdk";
import { serveWorker } from "../../worker/serve-worker.ts";

/** A worker as users run it: a process of its own, connected over gRPC. */
interface Settings {
  /** Addresses to which it connects, with commas between several. */
  url: string;
  slots?: number;
  prefetch?: number;
  capabilities?: string[];
}

await serveWorker<Settings>(async (settings, tally) => {
  const noop = task({ name: "noop", run: (job: { n: number; holdMs?: number }) => tally.ran(job) });
  let worker: Worker | null = null;
  return {
    start: async () => {
      worker = new Worker({ ...settings, tasks: [noop] });
      await worker.start();
    },
    stop: async () => {
      await worker?.stop();
      worker = null;
    },
  };
});
