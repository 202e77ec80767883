import { ExecutionFailed } from "../errors.ts";
import type { Execution, SubmittedJob } from "./api-types.ts";
import type { Client } from "./client.ts";
import type { ReadOptions } from "./requests.ts";
import type { SentSignal, SignalOptions } from "./step-types.ts";

/** A submitted job whose result has the type R. A program can create the handle again elsewhere from the two ids. */
export class JobHandle<R = unknown> {
  readonly jobId: string;
  readonly executionId: string;
  /** Whether another job's execution holds the unique key; the handle is then for that job. */
  readonly deduplicated: boolean;
  readonly #client: Client;

  constructor(client: Client, submitted: Pick<SubmittedJob, "jobId" | "executionId" | "deduplicated">) {
    this.#client = client;
    this.jobId = submitted.jobId;
    this.executionId = submitted.executionId;
    this.deduplicated = submitted.deduplicated ?? false;
  }

  /**
   * Waits until the execution is final, without a time limit, and returns its result. The signal ends the wait.
   * @throws {ExecutionFailed} if the execution did not succeed
   */
  async result(options: ReadOptions = {}): Promise<R> {
    const execution = await this.#client.waitForExecution<R>(this.executionId, options);
    if (execution.state !== "SUCCEEDED") throw new ExecutionFailed(execution);
    return execution.result as R;
  }

  /**
   * Cancels the execution.
   * @returns CANCELLED: the execution will not run. REQUESTED: its worker is told to stop; `result()` shows how the execution ended.
   * NOT_DURABLE: the same, but the server's store does not answer, and the request may be lost
   */
  cancel(options: ReadOptions = {}): Promise<"CANCELLED" | "REQUESTED" | "NOT_DURABLE"> {
    return this.#client.cancelExecution(this.executionId, options);
  }

  /**
   * Sends a signal to the execution, as `client.signalExecution` does.
   * @param data JSON of at most 64 KiB; left out: none
   */
  signal(name: string, data?: unknown, options: SignalOptions = {}): Promise<SentSignal> {
    return this.#client.signalExecution(this.executionId, name, data, options);
  }

  /** Reads the execution as it is now. */
  get(options: ReadOptions = {}): Promise<Execution<R>> {
    return this.#client.getExecution<R>(this.executionId, options);
  }
}
