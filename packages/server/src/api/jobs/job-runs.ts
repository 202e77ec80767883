import { DEFAULT_TENANT, type ExecutionId, type JobId } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { NewRun } from "../../ports/store-jobs.ts";
import type { JobView } from "../../ports/store-queries.ts";
import { ProblemError } from "../http/errors.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { hintRun } from "../submit/hints.ts";
import { newJob } from "../submit/new-job.ts";
import { refusalOf } from "./change-refusals.ts";

interface RunDependencies {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  orderings: PoolOrderings;
}

export interface RunStarted {
  executionId: ExecutionId;
  jobId: JobId;
}

/**
 * Creates additional executions of accepted jobs, to run now by the job's present definition. Refusals are thrown as
 * `ProblemError`.
 */
export class JobRuns {
  readonly #deps: RunDependencies;

  constructor(deps: RunDependencies) {
    this.#deps = deps;
  }

  /**
   * Runs the job of a final execution again.
   * @param keepsSteps whether the new execution gets the records and the open signals of the final one
   * @throws {StoreUnavailable} there may or may not be a new execution
   */
  async retry(executionId: ExecutionId, keepsSteps = false, note?: AuditNote): Promise<RunStarted> {
    const { queries } = this.#deps.store;
    const execution = await queries.getExecution(DEFAULT_TENANT, executionId);
    if (execution === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
    if (execution.ofRun !== undefined) throw new ProblemError(refusalOf({ kind: "IS_WORKFLOW" }));
    return await this.#run(execution.jobId, executionId, keepsSteps, note);
  }

  /** Runs a recurring job now, independently of its plan and even while it is paused. @throws {StoreUnavailable} */
  async trigger(jobId: JobId, note?: AuditNote): Promise<RunStarted> {
    return await this.#run(jobId, null, false, note);
  }

  async #run(
    jobId: JobId,
    retryOf: ExecutionId | null,
    keepsSteps: boolean,
    note: AuditNote | undefined,
  ): Promise<RunStarted> {
    const { store, bus } = this.#deps;
    for (let tries = 3; ; tries--) {
      const job = await store.queries.getJob(DEFAULT_TENANT, jobId);
      if (job === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
      if (retryOf === null && job.plan === null) throw new ProblemError(refusalOf({ kind: "NOT_RECURRING" }));
      const run = { ...(await this.#runOf(job)), retryOf, keepsSteps };
      const outcome = await store.jobs.run(run, note);
      if (outcome.kind === "ACCEPTED") {
        hintRun(bus, run, outcome.steps);
        return run;
      }
      // The job was changed since it was read.
      if (outcome.kind !== "OTHER_VERSION" || tries === 0) throw new ProblemError(refusalOf(outcome));
    }
  }

  async #runOf(job: JobView): Promise<Omit<NewRun, "retryOf" | "keepsSteps">> {
    const { runtime, orderings } = this.#deps;
    const orderOf = await orderings.read();
    const at = runtime.now();
    const policy = { ...job.definition.policy, startBefore: null };
    const definition = { ...job.definition, scheduledAt: at, policy };
    const fresh = newJob(definition, job.payload, orderOf(definition.pool), at, job.jobId);
    return { ...fresh, executionId: runtime.uuid(), jobVersion: job.version };
  }
}
