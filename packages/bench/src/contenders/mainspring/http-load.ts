import { Pool } from "undici";
import type { BenchJob } from "../contender.ts";

interface Answered {
  items?: { error?: unknown }[];
}

/** Submits over HTTP: as lean as a client can be, for it shares the machine with what is measured. */
export class HttpLoad {
  readonly #pool: Pool;

  constructor(url: string, connections: number) {
    this.#pool = new Pool(url, { connections, pipelining: 1, bodyTimeout: 60_000, headersTimeout: 60_000 });
  }

  async submit(job: BenchJob): Promise<void> {
    await this.#send("POST", "/v1/jobs", requestOf(job), 201);
  }

  submitBatch(jobs: readonly BenchJob[]): Promise<void> {
    return this.#batch(jobs.map(requestOf));
  }

  /** So many jobs for the same pool and handler as all others, that recur. */
  submitRecurring(count: number, recurs: object): Promise<void> {
    return this.#batch(Array.from({ length: count }, (_, n) => ({ ...requestOf({ n }), ...recurs })));
  }

  async #batch(jobs: readonly object[]): Promise<void> {
    const text = await this.#send("POST", "/v1/jobs/batch", { jobs }, 200);
    const { items = [] } = JSON.parse(text) as Answered;
    const refused = items.find((item) => item.error !== undefined);
    if (refused !== undefined || items.length !== jobs.length) {
      throw new Error(`of ${jobs.length} jobs ${items.length} were answered, and one with ${JSON.stringify(refused)}`);
    }
  }

  /** How many executions have succeeded since the server started. */
  async succeeded(): Promise<number> {
    const { body } = await this.#pool.request({ method: "GET", path: "/metrics" });
    const lines = (await body.text()).matchAll(/^mainspring_executions_finished_total\{([^}]*)\} (\d+)/gm);
    let count = 0;
    for (const [, labels = "", value] of lines) if (labels.includes('state="SUCCEEDED"')) count += Number(value);
    return count;
  }

  /** Pauses or resumes the pool that all jobs are for. */
  async pausePool(isPaused: boolean): Promise<void> {
    await this.#send("PUT", "/v1/pools/default", { paused: isPaused }, 200);
  }

  /** Where its workers connect. */
  async grpcAddress(): Promise<string> {
    const { body } = await this.#pool.request({ method: "GET", path: "/v1/stats" });
    return ((await body.json()) as { addresses: { grpc: string } }).addresses.grpc;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #send(method: "POST" | "PUT", path: string, content: object, expected: number): Promise<string> {
    const { statusCode, body } = await this.#pool.request({
      method,
      path,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(content),
    });
    const text = await body.text();
    if (statusCode !== expected) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 500)}`);
    return text;
  }
}

function requestOf({ n, holdMs, runAtMs, requires }: BenchJob): object {
  return {
    target: { handler: "noop", ...(requires !== undefined && { requires: [requires] }) },
    payload: holdMs === undefined ? { n } : { n, holdMs },
    ...(runAtMs !== undefined && { runAt: new Date(runAtMs).toISOString() }),
  };
}
