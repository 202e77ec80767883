import { task, Worker } from "@mainspring/sdk";

/** One worker process that runs jobs which do nothing, and counts them. */
let runs = 0;
let firstAtMs = 0;

const noop = task({
  name: "noop",
  run: () => {
    if (runs++ === 0) firstAtMs = Date.now();
  },
});

const worker = new Worker({ url: process.argv[2] ?? "", slots: 100, prefetch: 4_000, tasks: [noop] });
process.on("message", () => process.send?.({ firstAtMs, runs }));
process.on("SIGTERM", () => void worker.stop().then(() => process.exit(0)));
await worker.start();
