import { ExecutionFailed } from "../errors.ts";
import type { Execution, SubmittedJob } from "./api-types.ts";
import type { Client } from "./client.ts";
import type { ReadOptions } from "./requests.ts";
import type { SentSignal, SignalOptions } from "./step-types.ts";

/**
 * A submitted job whose result has the type R. A program can create the handle again elsewhere from the two ids. Where the server takes
 * jobs through Kafka, each method first waits until the job is taken in, and fails as a submit would if the job is refused.
 */
export class JobHandle<R = unknown> {
  readonly jobId: string;
  readonly executionId: string;
  /** Whether another job's execution holds the unique key; the handle is then for that job. */
  readonly deduplicated: boolean;
  readonly #client: Client;
  /** Request that becomes the job; null: the job is there. */
  #request: string | null;
  /** The execution, which is another one than the answer named if an earlier job has the same key. */
  #current: string;

  constructor(client: Client, submitted: Pick<SubmittedJob, "jobId" | "executionId" | "deduplicated" | "request">) {
    this.#client = client;
    this.#request = submitted.request ?? null;
    this.#current = submitted.executionId;
    this.jobId = submitted.jobId;
    this.executionId = submitted.executionId;
    this.deduplicated = submitted.deduplicated ?? false;
  }

  /**
   * Waits until the execution is final, without a time limit, and returns its result. The signal ends the wait.
   * @throws {ExecutionFailed} if the execution did not succeed
   */
  async result(options: ReadOptions = {}): Promise<R> {
    const execution = await this.#client.waitForExecution<R>(await this.#execution(options), options);
    if (execution.state !== "SUCCEEDED") throw new ExecutionFailed(execution);
    return execution.result as R;
  }

  /**
   * Cancels the execution.
   * @returns CANCELLED: the execution will not run. REQUESTED: its worker is told to stop; `result()` shows how the execution ended.
   * NOT_DURABLE: the same, but the server's store does not answer, and the request may be lost
   */
  async cancel(options: ReadOptions = {}): Promise<"CANCELLED" | "REQUESTED" | "NOT_DURABLE"> {
    return await this.#client.cancelExecution(await this.#execution(options), options);
  }

  /**
   * Sends a signal to the execution, as `client.signalExecution` does.
   * @param data JSON of at most 64 KiB; left out: none
   */
  async signal(name: string, data?: unknown, options: SignalOptions = {}): Promise<SentSignal> {
    return await this.#client.signalExecution(await this.#execution(options), name, data, options);
  }

  /** Reads the execution as it is now. */
  async get(options: ReadOptions = {}): Promise<Execution<R>> {
    return await this.#client.getExecution<R>(await this.#execution(options), options);
  }

  async #execution({ signal }: ReadOptions): Promise<string> {
    if (this.#request === null) return this.#current;
    const { executionId } = await this.#client.requests.takenIn(this.#request, signal && { signal });
    this.#request = null;
    this.#current = executionId ?? this.executionId;
    return this.#current;
  }
}
