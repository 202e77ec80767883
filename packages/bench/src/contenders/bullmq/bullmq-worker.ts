import { serveWorker } from "../../worker/serve-worker.ts";
import { type BullMqSettings, CONCURRENCY, connectionTo, loadBullMq } from "./bullmq-types.ts";

const { Worker } = await loadBullMq();

await serveWorker<BullMqSettings>(async ({ path }, tally) => {
  let worker: InstanceType<typeof Worker> | null = null;
  return {
    start: async () => {
      worker = new Worker("noop", async ({ data }) => tally.ran(data), {
        connection: connectionTo(path),
        concurrency: CONCURRENCY,
      });
      worker.on("error", (error) => console.error("BullMQ:", error.message));
      await worker.waitUntilReady();
    },
    stop: async () => {
      await worker?.close();
      worker = null;
    },
  };
});
