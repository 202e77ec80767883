import { Client, task, Worker } from "@mainspring/sdk";

// A task is both: the handler that a worker runs, and the typed way to submit a job for it.
const greet = task({
  name: "greet",
  retry: { maxAttempts: 3, backoff: "EXPONENTIAL", initialDelayMs: 500 },
  run: async (payload: { name: string }, ctx) => `Hello ${payload.name}, this is attempt ${ctx.attempt}`,
});

const worker = new Worker({ pool: "greetings", tasks: [greet] });
await worker.start();

const job = await greet.submit(new Client(), { name: "Ada" }, { pool: "greetings" });
console.log(await job.result());

await worker.stop();
