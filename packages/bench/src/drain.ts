import { Client } from "@mainspring/sdk";
import { type Server, startServer } from "./server-process.ts";
import { startDrainWorker } from "./worker-process.ts";

export interface DrainOptions {
  jobs: number;
  runs: number;
  /** A PostgreSQL of one's own, its database empty; default: the embedded one. */
  store?: string;
}

const BATCH = 10_000;

/** Prefilled no-op jobs, one worker process: from the first handler's start until the last result is committed. */
export async function drain(options: DrainOptions): Promise<void> {
  const rates: number[] = [];
  for (let run = 1; run <= options.runs; run++) {
    const rate = await drainOnce(options);
    console.log(`run ${run}: ${Math.round(rate)} jobs/s`);
    rates.push(rate);
  }
  rates.sort((a, b) => a - b);
  const [min, median, max] = [rates[0], rates[rates.length >> 1], rates.at(-1)].map((rate) => Math.round(rate ?? 0));
  console.log(`drain of ${options.jobs} jobs: min ${min}, median ${median}, max ${max} jobs/s`);
}

async function drainOnce({ jobs, store }: DrainOptions): Promise<number> {
  await using server = await startServer(store);
  await prefill(new Client({ url: server.httpUrl }), jobs);
  await using worker = await startDrainWorker(server.grpcAddress);
  // Asking the server for figures while it works would be a part of the load.
  const { firstAtMs, runs } = await worker.reportAfter(jobs);
  const endedAtMs = await succeeded(server, jobs);
  if (runs !== jobs) throw new Error(`${jobs} jobs were submitted and ${runs} ran`);
  return jobs / ((endedAtMs - firstAtMs) / 1_000);
}

async function prefill(client: Client, jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, jobs - done) }, () => ({ target: { handler: "noop" } }));
    const items = await client.submitBatch(batch);
    const refused = items.find((item) => "error" in item);
    if (refused) throw new Error(`a job was refused: ${JSON.stringify(refused)}`);
  }
}

/** When the server had committed that many results. */
async function succeeded(server: Server, jobs: number): Promise<number> {
  for (;;) {
    const text = await (await fetch(`${server.httpUrl}/metrics`)).text();
    const count = Number(
      /^mainspring_executions_finished_total\{[^}]*state="SUCCEEDED"[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0,
    );
    if (count >= jobs) return Date.now();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
