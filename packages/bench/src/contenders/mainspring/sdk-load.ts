import { Client, type JobRequest } from "@mainspring/sdk";
import type { BenchFlow, BenchJob } from "../contender.ts";
import { HttpLoad, requestOf, workflowOf } from "./http-load.ts";

/** Submits as applications do, by the SDK's client with its default settings: each submit has an idempotency key. */
export class SdkLoad extends HttpLoad {
  readonly #client: Client;

  constructor(url: string, connections: number) {
    super(url, connections);
    this.#client = new Client({ url });
  }

  override async submit(job: BenchJob): Promise<void> {
    await this.#client.submit(requestOf(job) as JobRequest);
  }

  override async submitFlow(flow: BenchFlow): Promise<void> {
    await this.#client.workflows.submit(workflowOf(flow));
  }
}
