import { task, Worker } from "@mainspring/sdk";
import { nowMs } from "../../clock.ts";
import { serveWorker } from "../../worker/serve-worker.ts";

/** A worker as users run it: a process of its own, connected over gRPC. */
interface Settings {
  /** Addresses to which it connects, with commas between several. */
  url: string;
  slots?: number;
  prefetch?: number;
  capabilities?: string[];
  apiKey?: string;
}

await serveWorker<Settings>(async (settings, tally) => {
  const noop = task({ name: "noop", run: (job: { n: number; holdMs?: number }) => tally.ran(job) });
  const steps = task({
    name: "steps",
    run: async (job: { n: number; steps?: number; sleepMs?: number }, { step }) => {
      void tally.ran(job);
      if (job.sleepMs !== undefined) await step.sleep("sleep", job.sleepMs);
      for (let index = 0; index < (job.steps ?? 0); index++) {
        const beganMs = nowMs();
        await step.run(["step", index], () => undefined);
        tally.stepped(nowMs() - beganMs);
      }
    },
  });
  let worker: Worker | null = null;
  return {
    start: async () => {
      worker = new Worker({ ...settings, tasks: [noop, steps] });
      await worker.start();
    },
    stop: async () => {
      await worker?.stop();
      worker = null;
    },
  };
});
