import { task, Worker } from "@mainspring/sdk";

/** One worker process that runs jobs which do nothing, and counts them. */
let runs = 0;
let firstAtMs = 0;
let awaited = Number.POSITIVE_INFINITY;

function report(): void {
  if (runs < awaited) return;
  awaited = Number.POSITIVE_INFINITY;
  process.send?.({ firstAtMs, runs });
}

const noop = task({
  name: "noop",
  run: () => {
    if (runs++ === 0) firstAtMs = Date.now();
    report();
  },
});

const worker = new Worker({ url: process.argv[2] ?? "", slots: 100, prefetch: 8_000, tasks: [noop] });
process.on("message", (count) => {
  awaited = Number(count);
  report();
});
process.on("SIGTERM", () => void worker.stop().then(() => process.exit(0)));
await worker.start();
