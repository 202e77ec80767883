import { serveWorker } from "../../worker/serve-worker.ts";
import { GRAPHILE, type GraphileSettings, loadGraphile, presetFor } from "./graphile-types.ts";

const graphile = await loadGraphile();

await serveWorker<GraphileSettings>(async ({ url }, tally) => {
  const { worker } = presetFor(graphile, url, GRAPHILE.concurrentJobs + 2);
  const preset = {
    worker: {
      ...worker,
      concurrentJobs: GRAPHILE.concurrentJobs,
      localQueue: { size: GRAPHILE.localQueue },
      completeJobBatchDelay: GRAPHILE.batchDelayMs,
      failJobBatchDelay: GRAPHILE.batchDelayMs,
    },
  };
  let runner: Awaited<ReturnType<typeof graphile.run>> | null = null;
  return {
    start: async () => {
      runner = await graphile.run({ preset, taskList: { noop: (job: { n: number }) => tally.ran(job) } });
    },
    stop: async () => {
      await runner?.stop();
      runner = null;
    },
  };
});
