import process from "node:process";
import { task, Worker } from "@mainspring/sdk";
import { systemRuntime } from "@mainspring/server/testing";

/**
 * Worker in a process of its own, which a test can freeze or kill. TEST_WORKER has its options as JSON. The process prints
 * `ready` once the worker is connected, and `start <execution>` at each start of its handler `hold`, which logs a line and ends
 * after as many milliseconds as its payload says.
 */

const runtime = systemRuntime();
const hold = task({
  name: "hold",
  run: async (ms: number, ctx) => {
    ctx.log(`holds for ${ms} ms`);
    process.stdout.write(`start ${ctx.executionId}\n`);
    await new Promise<void>((resolve) => runtime.setTimer(ms, resolve));
  },
});

const worker = new Worker({ tasks: [hold], warn: () => undefined, ...JSON.parse(process.env["TEST_WORKER"] ?? "{}") });
await worker.start();
process.stdout.write("ready\n");
await worker.closed;
