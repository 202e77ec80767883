import { parentPort, workerData } from "node:worker_threads";
import { task, Worker } from "@mainspring/sdk";

/** A worker whose handler logs far more than any receiver can take. */
const LINES = 50_000;

const chatty = task({
  name: "chatty",
  run: async (_payload: unknown, ctx) => {
    for (let line = 0; line < LINES; line++) {
      ctx.log(`${line} ${"x".repeat(2_000)}`);
      ctx.progress(line / LINES, "y".repeat(500));
      if (line % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return LINES;
  },
});
const worker = new Worker({ url: workerData as string, pool: "chatty", tasks: [chatty] });
await worker.start();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage("started");
