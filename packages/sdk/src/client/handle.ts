import type { Execution, SubmittedJob } from "./api-types.ts";
import type { Client } from "./client.ts";
import { ExecutionFailed } from "./errors.ts";
import type { ReadOptions } from "./requests.ts";

/** A submitted job whose result has the type R. Can be made again elsewhere from the two ids. */
export class JobHandle<R = unknown> {
  readonly jobId: string;
  readonly executionId: string;
  /** The unique key was held: this is the job that holds it. */
  readonly deduplicated: boolean;
  readonly #client: Client;

  constructor(client: Client, submitted: Pick<SubmittedJob, "jobId" | "executionId" | "deduplicated">) {
    this.#client = client;
    this.jobId = submitted.jobId;
    this.executionId = submitted.executionId;
    this.deduplicated = submitted.deduplicated ?? false;
  }

  /**
   * Waits until the execution is final, however long that takes; end the wait by the signal.
   * @throws {ExecutionFailed} where it did not succeed
   */
  async result(options: ReadOptions = {}): Promise<R> {
    const execution = await this.#client.waitForExecution<R>(this.executionId, options);
    if (execution.state !== "SUCCEEDED") throw new ExecutionFailed(execution);
    return execution.result as R;
  }

  /** @returns CANCELLED: it will not run. REQUESTED: its worker is told; `result()` says how it ended. */
  cancel(options: ReadOptions = {}): Promise<"CANCELLED" | "REQUESTED"> {
    return this.#client.cancelExecution(this.executionId, options);
  }

  /** The execution as it stands. */
  get(options: ReadOptions = {}): Promise<Execution<R>> {
    return this.#client.getExecution<R>(this.executionId, options);
  }
}
