import { WorkflowFailed } from "../errors.ts";
import type { Client } from "./client.ts";
import type { FollowOptions } from "./follow.ts";
import type { ReadOptions } from "./requests.ts";
import type { SentSignal, SignalOptions } from "./step-types.ts";
import type { SubmitOptions } from "./submit-options.ts";
import type { DeduplicatedWorkflow, SubmittedWorkflow, Workflow, WorkflowEvent } from "./workflow-types.ts";

/** A run of a workflow, whose result has the type R. A program can create the handle again elsewhere from the two ids. */
export class WorkflowHandle<R = unknown> {
  readonly workflowId: string;
  readonly jobId: string;
  /** Whether another run or execution holds the unique key; the handle is then for that one. */
  readonly deduplicated: boolean;
  /** Possible mistakes, as a handler that no worker offers now; empty: none. */
  readonly warnings: readonly string[];
  readonly #client: Client;

  constructor(
    client: Client,
    submitted: Pick<SubmittedWorkflow, "workflowId" | "jobId" | "warnings"> &
      Partial<Pick<DeduplicatedWorkflow, "deduplicated">>,
  ) {
    this.#client = client;
    this.workflowId = submitted.workflowId;
    this.jobId = submitted.jobId;
    this.deduplicated = submitted.deduplicated ?? false;
    this.warnings = submitted.warnings ?? [];
  }

  /**
   * Waits until the run is final, without a time limit, and returns its result. The signal ends the wait.
   * @throws {WorkflowFailed} if the run did not succeed
   */
  async result(options: ReadOptions = {}): Promise<R> {
    const workflow = await this.#client.workflows.waitFor(this.workflowId, options);
    if (workflow.state !== "SUCCEEDED") throw new WorkflowFailed(workflow);
    return workflow.result as R;
  }

  /** Reads the run as it is now. */
  get(options: ReadOptions = {}): Promise<Workflow> {
    return this.#client.workflows.get(this.workflowId, options);
  }

  /** Streams the run and its nodes as they change, until the run is final, as `client.workflows.follow` does. */
  follow(options: FollowOptions = {}): AsyncGenerator<WorkflowEvent, void, undefined> {
    return this.#client.workflows.follow(this.workflowId, options);
  }

  /**
   * Cancels the run.
   * @returns CANCELLED: the run is final. REQUESTED: it ends when workers have stopped its nodes
   */
  cancel(options: ReadOptions = {}): Promise<"CANCELLED" | "REQUESTED"> {
    return this.#client.workflows.cancel(this.workflowId, options);
  }

  /**
   * Sends a signal to a node, as `client.workflows.signal` does.
   * @param data JSON of at most 64 KiB; left out: none
   */
  signal(node: string, name: string, data?: unknown, options: SignalOptions = {}): Promise<SentSignal> {
    return this.#client.workflows.signal(this.workflowId, node, name, data, options);
  }

  /**
   * Runs the failed part of a final run again, as a new run, as `client.workflows.retry` does.
   * @returns the new run
   */
  async retry(options: SubmitOptions & { from?: "FAILED" | readonly string[] } = {}): Promise<WorkflowHandle<R>> {
    return new WorkflowHandle<R>(this.#client, await this.#client.workflows.retry(this.workflowId, options));
  }
}
