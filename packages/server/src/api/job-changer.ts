import { DEFAULT_TENANT, type EpochMs, type ExecutionId, type JobId } from "../domain/ids.ts";
import type { JobDefinition } from "../domain/job.ts";
import type { Bus } from "../ports/bus.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { NewJob, Store } from "../ports/store.ts";
import type { NamedOutcome, ReplaceOutcome } from "../ports/store-jobs.ts";
import { refusalOf } from "./change-refusals.ts";
import type { Commands } from "./commands.ts";
import { ProblemError } from "./errors.ts";
import { sendHints } from "./hints.ts";
import { jobDefinition } from "./job-definition.ts";
import type { ReceivedJob } from "./job-intake.ts";
import { newJob } from "./new-job.ts";
import type { PoolOrders } from "./pool-orders.ts";

export interface ChangerParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  metrics: ApiMetrics;
  commands: Commands;
  orders: PoolOrders;
}

/** What a job is after a change. */
export interface ChangedJob {
  jobId: JobId;
  version: number;
  /** The newest that has not ended; null: there is none. */
  executionId: ExecutionId | null;
  /** When the definition says that it is to run; null: at once. */
  fireAt: EpochMs | null;
  /**
   * What the execution runs by. REPLACED: the new definition. KEPT: what it started with. REQUESTED: the new one, unless it
   * starts before its owner hears of it. UNCHANGED: there was nothing new. CREATED: it is the job's first.
   */
  execution: "REPLACED" | "KEPT" | "REQUESTED" | "UNCHANGED" | "CREATED";
}

/** Changes jobs that were accepted. Refusals are thrown as `ProblemError`; nothing was changed then. */
export class JobChanger {
  readonly #parts: ChangerParts;

  constructor(parts: ChangerParts) {
    this.#parts = parts;
  }

  /**
   * Gives a job another definition.
   * @param ifVersion null: whatever its version is
   * @throws {StoreUnavailable} it may or may not have been changed
   */
  async replace(jobId: JobId, { job, payload }: ReceivedJob, ifVersion: number | null): Promise<ChangedJob> {
    const { store, runtime } = this.#parts;
    const at = runtime.now();
    const definition = jobDefinition(job, at);
    const about = { tenant: DEFAULT_TENANT, jobId, definition, payload, ifVersion };
    const outcome = await store.jobs.replace({ ...about, commandId: runtime.uuid(), at });
    return this.#follow(outcome, definition, at);
  }

  /** The same for the active job of this name; where there is none the job is submitted. */
  async putNamed({ job, payload }: ReceivedJob): Promise<ChangedJob> {
    const { store, bus, runtime, metrics, orders } = this.#parts;
    const orderOf = await orders.read();
    const at = runtime.now();
    const definition = jobDefinition(job, at);
    const fresh = newJob(definition, payload, orderOf(definition.pool), at, runtime);
    const outcome = await store.jobs.putNamed({ job: fresh, commandId: runtime.uuid() });
    if (outcome.kind !== "CREATED") return this.#follow(outcome, definition, at);
    metrics.submitted(1);
    sendHints(bus, [fresh]);
    const { jobId, executionId } = fresh;
    return { jobId, version: 1, executionId, fireAt: ahead(definition, at), execution: "CREATED" };
  }

  /** @returns whether nothing of it waits any more; false: its owner has not said so yet */
  async delete(jobId: JobId, cancelRunning: boolean): Promise<boolean> {
    const { store, runtime, commands } = this.#parts;
    const commandId = () => runtime.uuid();
    const about = { tenant: DEFAULT_TENANT, jobId, cancelRunning, commandId, at: runtime.now() };
    const outcome = await store.jobs.delete(about);
    if (outcome.kind !== "DELETED") throw new ProblemError(refusalOf(outcome));
    const answers = await Promise.all(outcome.commands.map((command) => commands.tell(command)));
    return !answers.includes(null);
  }

  /** Runs the job of a final execution once more, by the definition that it has now. */
  async retry(executionId: ExecutionId): Promise<{ executionId: ExecutionId; jobId: JobId }> {
    const { store, bus } = this.#parts;
    for (let tries = 3; ; tries--) {
      const asked = await this.#retryOf(executionId);
      const outcome = await store.jobs.retry(asked);
      if (outcome.kind === "ACCEPTED") {
        sendHints(bus, [asked]);
        return asked;
      }
      // It was changed since it was read.
      if (outcome.kind !== "OTHER_VERSION" || tries === 0) throw new ProblemError(refusalOf(outcome));
    }
  }

  async #retryOf(retryOf: ExecutionId) {
    const { store, runtime, orders } = this.#parts;
    const execution = await store.queries.getExecution(DEFAULT_TENANT, retryOf);
    const job = execution && (await store.queries.getJob(DEFAULT_TENANT, execution.jobId));
    if (execution === null || job === null) throw new ProblemError(refusalOf({ kind: "NOT_FOUND" }));
    const orderOf = await orders.read();
    const at = runtime.now();
    const policy = { ...job.definition.policy, startBefore: null };
    const definition = { ...job.definition, scheduledAt: at, policy };
    const fresh: NewJob = newJob(definition, job.payload, orderOf(definition.pool), at, runtime);
    const { jobId, shard } = execution;
    return { ...fresh, jobId, shard, retryOf, jobVersion: job.version };
  }

  async #follow(
    outcome: ReplaceOutcome | Exclude<NamedOutcome, { kind: "CREATED" }>,
    definition: JobDefinition,
    at: EpochMs,
  ): Promise<ChangedJob> {
    if (outcome.kind === "UNCHANGED") {
      const { jobId, version, scheduledAt, executionIds } = outcome;
      const fireAt = scheduledAt > at ? scheduledAt : null;
      return { jobId, version, executionId: executionIds.at(-1) ?? null, fireAt, execution: "UNCHANGED" };
    }
    if (outcome.kind !== "REPLACED") throw new ProblemError(refusalOf(outcome));
    const { command } = outcome;
    const { jobId, version, executionIds } = command;
    const answer = await this.#parts.commands.tell(command);
    const execution = answer === "REPLACED" || answer === "KEPT" ? answer : "REQUESTED";
    const fireAt = execution === "KEPT" ? null : ahead(definition, at);
    return { jobId, version, executionId: executionIds.at(-1) ?? null, fireAt, execution };
  }
}

function ahead({ scheduledAt }: JobDefinition, at: EpochMs): EpochMs | null {
  return scheduledAt > at ? scheduledAt : null;
}
