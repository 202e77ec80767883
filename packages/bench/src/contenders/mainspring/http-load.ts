import type { WorkflowNodeRequest } from "@mainspring/sdk";
import { Pool } from "undici";
import { until } from "../../clock.ts";
import type { BenchFlow, BenchJob } from "../contender.ts";

/** Time within which every server confirms the pause of a pool, in milliseconds, and the interval of the requests. */
const PAUSED_WITHIN_MS = 60_000;
const ASK_AGAIN_MS = 100;

interface Answered {
  items?: { error?: unknown; executionId?: string }[];
}

/** Submits over HTTP with a minimal client, because the client shares the machine with the measured system. */
export class HttpLoad {
  readonly url: string;
  readonly #pool: Pool;
  /** Headers of each request. */
  readonly headers: Record<string, string> = {};
  /** Execution of the newest job of a batch. */
  #newestId: string | null = null;

  constructor(url: string, connections: number) {
    this.url = url;
    this.#pool = new Pool(url, { connections, pipelining: 1, bodyTimeout: 60_000, headersTimeout: 60_000 });
  }

  async submit(job: BenchJob): Promise<void> {
    await this.#send("POST", "/v1/jobs", requestOf(job), [201, 202], job.tenant);
  }

  submitBatch(jobs: readonly BenchJob[]): Promise<void> {
    return this.#batch(jobs.map(requestOf), jobs[0]?.tenant);
  }

  async submitFlow(flow: BenchFlow): Promise<void> {
    await this.#send("POST", "/v1/workflows", workflowOf(flow), [201]);
  }

  async createTenant(name: string): Promise<void> {
    await this.#send("POST", "/v1/tenants", { name }, [201]);
  }

  /** Sends a key of its own with each later request, which is one of those in the store. @param first key of the server's settings */
  async useStoredKey(first: string): Promise<void> {
    this.headers["authorization"] = `Bearer ${first}`;
    const { text } = await this.#send("POST", "/v1/api-keys", { kind: "OPERATOR", name: "bench" }, [201]);
    this.headers["authorization"] = `Bearer ${(JSON.parse(text) as { key: string }).key}`;
  }

  /** Submits recurring jobs for the same handler as all others. */
  submitRecurring(count: number, recurs: object, pool?: string): Promise<void> {
    const job = (n: number) => requestOf(pool === undefined ? { n } : { n, pool });
    return this.#batch(Array.from({ length: count }, (_, n) => ({ ...job(n), ...recurs })));
  }

  async #batch(jobs: readonly object[], tenant?: string): Promise<void> {
    const { text } = await this.#send("POST", "/v1/jobs/batch", { jobs }, [200, 202], tenant);
    const { items = [] } = JSON.parse(text) as Answered;
    const refused = items.find((item) => item.error !== undefined);
    this.#newestId = items.at(-1)?.executionId ?? this.#newestId;
    if (refused !== undefined || items.length !== jobs.length) {
      throw new Error(`of ${jobs.length} jobs ${items.length} were answered, and one with ${JSON.stringify(refused)}`);
    }
  }

  /** Waits for the end of the newest job of a batch, for a minute at most. */
  async newestFinished(): Promise<void> {
    if (this.#newestId === null) return;
    const path = `/v1/executions/${this.#newestId}?waitSec=60`;
    const { body } = await this.#pool.request({ method: "GET", headers: this.headers, path, headersTimeout: 90_000 });
    await body.dump();
  }

  /** Number of executions that have succeeded since the server started. */
  async succeeded(): Promise<number> {
    const { body } = await this.#pool.request({ method: "GET", headers: this.headers, path: "/metrics" });
    const lines = (await body.text()).matchAll(/^mainspring_executions_finished_total\{([^}]*)\} (\d+)/gm);
    let count = 0;
    for (const [, labels = "", value] of lines) if (labels.includes('state="SUCCEEDED"')) count += Number(value);
    return count;
  }

  /** Pauses the pool of all jobs, and waits until every server confirms it. A busy server may take several requests. */
  async pausePool(): Promise<void> {
    await until("a paused pool", PAUSED_WITHIN_MS, ASK_AGAIN_MS, async () =>
      (await this.#putPool(true)) === 200 ? true : null,
    );
  }

  /** Resumes the pool of all jobs. Servers that have not confirmed it follow soon. */
  async resumePool(): Promise<void> {
    await this.#putPool(false);
  }

  /** @returns status: 200 if every server has confirmed the change, 202 if not */
  async #putPool(isPaused: boolean): Promise<number> {
    return (await this.#send("PUT", "/v1/pools/default", { paused: isPaused }, [200, 202])).statusCode;
  }

  /** Number of occupied slots of all workers. */
  async usedSlots(): Promise<number> {
    const { body } = await this.#pool.request({ method: "GET", headers: this.headers, path: "/v1/workers" });
    const { items } = (await body.json()) as { items: { slots: number; free: number }[] };
    return items.reduce((sum, { slots, free }) => sum + slots - free, 0);
  }

  /** Address to which its workers connect. */
  async grpcAddress(): Promise<string> {
    const { body } = await this.#pool.request({ method: "GET", headers: this.headers, path: "/v1/stats" });
    return ((await body.json()) as { addresses: { grpc: string } }).addresses.grpc;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  /** @throws the status is none of the expected ones */
  async #send(
    method: "POST" | "PUT",
    path: string,
    content: object,
    expected: readonly number[],
    tenant?: string,
  ): Promise<{ statusCode: number; text: string }> {
    const { statusCode, body } = await this.#pool.request({
      method,
      path,
      headers: {
        ...this.headers,
        "content-type": "application/json",
        ...(tenant !== undefined && { "mainspring-tenant": tenant }),
      },
      body: JSON.stringify(content),
    });
    const text = await body.text();
    if (!expected.includes(statusCode)) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 500)}`);
    return { statusCode, text };
  }
}

export function requestOf(job: BenchJob): object {
  const { runAtMs, requires, pool, priority } = job;
  return {
    target: {
      handler: isStepping(job) ? "steps" : "noop",
      ...(pool !== undefined && { pool }),
      ...(requires !== undefined && { requires: [requires] }),
    },
    ...(priority !== undefined && { priority }),
    payload: payloadOf(job),
    ...(runAtMs !== undefined && { runAt: new Date(runAtMs).toISOString() }),
  };
}

function isStepping({ steps, sleepMs }: BenchJob): boolean {
  return steps !== undefined || sleepMs !== undefined;
}

function payloadOf(job: BenchJob): object {
  const { n, holdMs, filler, steps, sleepMs } = job;
  if (isStepping(job)) return { n, steps, sleepMs };
  return holdMs === undefined && filler === undefined ? { n } : { n, holdMs, filler };
}

export function workflowOf({ firstN, nodes }: BenchFlow): { nodes: WorkflowNodeRequest[] } {
  const name = (position: number) => `node-${position}`;
  return {
    nodes: nodes.map((waitsFor, index) => ({
      name: name(index),
      target: { handler: "noop" },
      payload: { n: firstN + index },
      ...(waitsFor.length > 0 && { dependsOn: waitsFor.map(name) }),
    })),
  };
}
