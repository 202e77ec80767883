import { serveWorker } from "../../worker/serve-worker.ts";
import { BATCH, type BossSettings, newBoss } from "./pg-boss-types.ts";

await serveWorker<BossSettings>(async ({ url, workers, ...flows }, tally) => {
  const boss = await newBoss({ connectionString: url, useListenNotify: true, migrate: false, ...flows });
  await boss.start();
  const options = {
    batchSize: BATCH,
    localConcurrency: workers,
    // Shortest interval that it accepts, because jobs that fall due later are found by polling only.
    pollingIntervalSeconds: 0.5,
    notifyPollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
  };
  return {
    start: async () => {
      await boss.work("noop", options, async (jobs) => {
        const held = jobs.map(({ data }) => tally.ran(data)).filter((wait) => wait !== undefined);
        if (held.length > 0) await Promise.all(held);
      });
    },
    stop: () => boss.offWork("noop"),
  };
});
