import type { ExecutionId, JobId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { NewRun, StoreJobs } from "../../ports/store-jobs.ts";
import type { JobView } from "../../ports/store-queries.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { ProblemError } from "../http/errors.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { hintRun } from "../submit/hints.ts";
import { newJob } from "../submit/new-job.ts";
import { refusalOf } from "./change-refusals.ts";

interface RunDependencies {
  stores: Pick<TenantStores, "of">;
  store: { readonly jobs: Pick<StoreJobs, "run"> };
  bus: Bus;
  runtime: Runtime;
  orderings: PoolOrderings;
}

type Further = Pick<NewRun, "retryOf"> & { keepsSteps: boolean; executionId?: ExecutionId };

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
   * @param newId id of the new execution; default: a random one
   * @throws {StoreUnavailable} there may or may not be a new execution
   */
  async retry(
    tenant: Tenant,
    executionId: ExecutionId,
    keepsSteps = false,
    note?: AuditNote,
    newId?: ExecutionId,
  ): Promise<RunStarted> {
    const { queries } = this.#deps.stores.of(tenant);
    const execution = await queries.getExecution(executionId);
    if (execution === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
    if (execution.ofRun !== undefined) throw new ProblemError(refusalOf({ kind: "IS_WORKFLOW" }));
    const further = { retryOf: executionId, keepsSteps, ...(newId !== undefined && { executionId: newId }) };
    return await this.#run(tenant, execution.jobId, further, note);
  }

  /** Runs a recurring job now, independently of its plan and even while it is paused. @throws {StoreUnavailable} */
  async trigger(tenant: Tenant, jobId: JobId, note?: AuditNote): Promise<RunStarted> {
    return await this.#run(tenant, jobId, { retryOf: null, keepsSteps: false }, note);
  }

  async #run(tenant: Tenant, jobId: JobId, further: Further, note: AuditNote | undefined): Promise<RunStarted> {
    const { stores, store, bus } = this.#deps;
    for (let tries = 3; ; tries--) {
      const job = await stores.of(tenant).queries.getJob(jobId);
      if (job === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
      if (further.retryOf === null && job.plan === null) throw new ProblemError(refusalOf({ kind: "NOT_RECURRING" }));
      const run = { ...(await this.#runOf(tenant, job)), ...further };
      const outcome = await store.jobs.run(run, note);
      if (outcome.kind === "ACCEPTED") {
        hintRun(bus, run, outcome.steps);
        return run;
      }
      // The job was changed since it was read.
      if (outcome.kind !== "OTHER_VERSION" || tries === 0) throw new ProblemError(refusalOf(outcome));
    }
  }

  async #runOf(tenant: Tenant, job: JobView): Promise<Omit<NewRun, "retryOf" | "keepsSteps">> {
    const { runtime, orderings } = this.#deps;
    const orderOf = await orderings.read();
    const at = runtime.now();
    const policy = { ...job.definition.policy, startBefore: null };
    const definition = { ...job.definition, scheduledAt: at, policy };
    const fresh = newJob(tenant, definition, job.payload, orderOf(definition.pool), at, job.jobId);
    return { ...fresh, executionId: runtime.uuid(), jobVersion: job.version };
  }
}
