import { Client, task, Worker } from "@mainspring/sdk";

// A separate module exports the handler, and each attempt runs in a separate process. So the worker can kill a handler
// that blocks or ignores the signal to stop.
const fibonacci = task<{ n: number }, number>({
  name: "fibonacci",
  isolate: { in: "process", module: new URL("./fibonacci.ts", import.meta.url), export: "fibonacci" },
});

const worker = new Worker({ pool: "numbers", slots: 1, tasks: [fibonacci] });
await worker.start();

const client = new Client();
const limits = { timeoutSec: 1, cancelGraceSec: 0.2, retryPolicy: { maxAttempts: 1 } };
// This job would take longer than the age of the universe. It keeps the only slot until the worker kills it.
const hopeless = await fibonacci.submit(client, { n: 1_000 }, { pool: "numbers", ...limits });
const easy = await fibonacci.submit(client, { n: 20 }, { pool: "numbers" });

console.log(`fibonacci(20) is ${await easy.result()}`);
const { state, attempts } = await hopeless.get();
console.log(`fibonacci(1000) is ${state}, because its attempt ${attempts[0]?.state}`);

await worker.stop();
