import { DEFAULT_TENANT, type ExecutionId, type JobId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import type { NewRun } from "../ports/store-jobs.ts";
import type { JobView } from "../ports/store-queries.ts";
import { refusalOf } from "./change-refusals.ts";
import { ProblemError } from "./errors.ts";
import { hintJobs } from "./hints.ts";
import { newJob, shardOfJob } from "./new-job.ts";
import type { PoolOrders } from "./pool-orders.ts";

interface RunParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  orders: PoolOrders;
}

export interface RunStarted {
  executionId: ExecutionId;
  jobId: JobId;
}

/** Runs jobs that were accepted once more, now, by the definition that they have. Refusals are thrown as `ProblemError`. */
export class JobRuns {
  readonly #parts: RunParts;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /** The job of a final execution. @throws {StoreUnavailable} there may or may not be a new execution */
  async retry(executionId: ExecutionId): Promise<RunStarted> {
    const { queries } = this.#parts.store;
    const execution = await queries.getExecution(DEFAULT_TENANT, executionId);
    if (execution === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
    return await this.#run(execution.jobId, executionId);
  }

  /** A recurring job, whatever its plan says, also while it is paused. @throws {StoreUnavailable} */
  async trigger(jobId: JobId): Promise<RunStarted> {
    return await this.#run(jobId, null);
  }

  async #run(jobId: JobId, retryOf: ExecutionId | null): Promise<RunStarted> {
    const { store, bus } = this.#parts;
    for (let tries = 3; ; tries--) {
      const job = await store.queries.getJob(DEFAULT_TENANT, jobId);
      if (job === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
      if (retryOf === null && job.plan === null) throw new ProblemError(refusalOf({ kind: "NOT_RECURRING" }));
      const run = await this.#runOf(job, retryOf);
      const outcome = await store.jobs.run(run);
      if (outcome.kind === "ACCEPTED") {
        hintJobs(bus, [run]);
        return run;
      }
      // It was changed since it was read.
      if (outcome.kind !== "OTHER_VERSION" || tries === 0) throw new ProblemError(refusalOf(outcome));
    }
  }

  async #runOf(job: JobView, retryOf: ExecutionId | null): Promise<NewRun> {
    const { runtime, orders } = this.#parts;
    const orderOf = await orders.read();
    const at = runtime.now();
    const policy = { ...job.definition.policy, startBefore: null };
    const definition = { ...job.definition, scheduledAt: at, policy };
    const fresh = newJob(definition, job.payload, orderOf(definition.pool), at, runtime);
    const { jobId, version: jobVersion } = job;
    return { ...fresh, jobId, shard: shardOfJob(definition, jobId), retryOf, jobVersion };
  }
}
