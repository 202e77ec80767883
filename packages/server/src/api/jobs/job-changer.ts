import { DEFAULT_TENANT, type EpochMs, type ExecutionId, type JobId } from "../domain/ids.ts";
import type { JobDefinition, JobState } from "../domain/job.ts";
import { isRecurringJobId } from "../domain/recurrence.ts";
import { isSameDefinition } from "../domain/same-definition.ts";
import type { Bus } from "../ports/bus.ts";
import type { CountedWarnings } from "../ports/counted-warnings.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import type { JobReplacement, NamedOutcome, ReplaceOutcome } from "../ports/store-jobs.ts";
import type { JobFilter, JobView } from "../ports/store-queries.ts";
import type { TimeZoneRules } from "../ports/time-zone-rules.ts";
import { refusalOf } from "./change-refusals.ts";
import type { Commands } from "./commands.ts";
import { invalid, type Problem, ProblemError } from "./errors.ts";
import type { Lacking } from "./feature-gate.ts";
import { hintJobs } from "./hints.ts";
import { jobDefinition } from "./job-definition.ts";
import { neverFires, type ReceivedJob } from "./job-intake.ts";
import { JobRuns } from "./job-runs.ts";
import { jobRow } from "./new-job.ts";
import { plannedFireAt } from "./plan-views.ts";
import type { PoolOrders } from "./pool-orders.ts";
import { scheduleErrors } from "./recurrence-rule.ts";
import { logWarnings } from "./zone-warnings.ts";

export interface ChangerParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  metrics: ApiMetrics;
  commands: Commands;
  orders: PoolOrders;
  /** The time zone data that first fires are worked out by. */
  zones: TimeZoneRules;
  lacking?: Lacking | undefined;
  /** Log of what the next release refuses; left out: there is none. */
  warnings?: CountedWarnings | undefined;
}

/** A job after a change. */
export interface ChangedJob {
  jobId: JobId;
  state: JobState;
  version: number;
  /** The newest that has not ended; null: there is none, or the job recurs. */
  executionId: ExecutionId | null;
  /** When the definition says that it is to run; null: at once, or that is being planned. */
  fireAt: EpochMs | null;
  /**
   * Effect of the change on the execution. REPLACED: the new definition. KEPT: what it started with. REQUESTED: the new
   * one, unless it starts before its owner hears of it. UNCHANGED: there was nothing new. CREATED: it is the job's
   * first.
   */
  execution: "REPLACED" | "KEPT" | "REQUESTED" | "UNCHANGED" | "CREATED";
}

/** Changes jobs that were accepted. Refusals are thrown as `ProblemError`; nothing was changed then. */
export class JobChanger {
  /** Runs jobs once more. */
  readonly runs: JobRuns;
  readonly #parts: ChangerParts;

  constructor(parts: ChangerParts) {
    this.#parts = parts;
    this.runs = new JobRuns(parts);
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
    const wrong = scheduleErrors(job, at);
    if (wrong.length > 0) {
      const known = await store.queries.getJob(DEFAULT_TENANT, jobId);
      return sameAsKnown(known, { definition, payload, ifVersion }, at) ?? refuse(invalid(wrong));
    }
    logWarnings(definition, this.#parts.warnings);
    const about = { tenant: DEFAULT_TENANT, jobId, definition, payload, ifVersion };
    const outcome = await store.jobs.replace({ ...about, commandId: runtime.uuid(), at });
    return this.#follow(outcome, definition, at);
  }

  /** The same for the active job of this name; where there is none the job is submitted. */
  async putNamed(received: ReceivedJob): Promise<ChangedJob> {
    const { store, bus, runtime, metrics, orders } = this.#parts;
    const orderOf = await orders.read();
    const at = runtime.now();
    const definition = jobDefinition(received.job, at);
    logWarnings(definition, this.#parts.warnings);
    const fresh = jobRow(definition, received.payload, orderOf(definition.pool), at, this.#parts);
    if (fresh === null) return await this.#putEnded(received, definition, at);
    const outcome = await store.jobs.putNamed({ job: fresh, commandId: runtime.uuid() });
    if (outcome.kind !== "CREATED") return this.#follow(outcome, definition, at);
    metrics.submitted(1);
    hintJobs(bus, [fresh]);
    const { jobId, executionId } = fresh;
    const fireAt = fresh.executionId === null ? fresh.firstFireAt : ahead(definition, at);
    return { jobId, state: "ACTIVE", version: 1, executionId, fireAt, execution: "CREATED" };
  }

  /** A program that says at each of its starts what is to recur goes on to say so when that has come to its end. */
  async #putEnded({ job, payload }: ReceivedJob, definition: JobDefinition, at: EpochMs): Promise<ChangedJob> {
    const { queries } = this.#parts.store;
    const { items } = await queries.listJobs(DEFAULT_TENANT, namedLike(definition), { after: null, limit: 10 });
    const found = items.find(({ state }) => state !== "DELETED");
    const known = found === undefined ? null : await queries.getJob(DEFAULT_TENANT, found.jobId);
    return sameAsKnown(known, { definition, payload, ifVersion: null }, at) ?? refuse(neverFires(job));
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

  async #follow(
    outcome: ReplaceOutcome | Exclude<NamedOutcome, { kind: "CREATED" }>,
    definition: JobDefinition,
    at: EpochMs,
  ): Promise<ChangedJob> {
    if (outcome.kind === "UNCHANGED") return await this.#unchanged(outcome, at);
    if (outcome.kind !== "REPLACED") throw new ProblemError(refusalOf(outcome));
    const { command, version } = outcome;
    const { jobId } = command;
    const answer = await this.#parts.commands.tell(command);
    if (command.kind === "PLAN") return await this.#planned(jobId, version, answer === null ? "REQUESTED" : "REPLACED");
    const execution = answer === "REPLACED" || answer === "KEPT" ? answer : "REQUESTED";
    const fireAt = execution === "KEPT" ? null : ahead(definition, at);
    return { jobId, state: "ACTIVE", version, executionId: command.executionIds.at(-1) ?? null, fireAt, execution };
  }

  async #unchanged(outcome: Extract<ReplaceOutcome, { kind: "UNCHANGED" }>, at: EpochMs): Promise<ChangedJob> {
    const { jobId, version, scheduledAt, executionIds } = outcome;
    if (isRecurringJobId(jobId)) return await this.#planned(jobId, version, "UNCHANGED");
    const fireAt = scheduledAt > at ? scheduledAt : null;
    return {
      jobId,
      state: "ACTIVE",
      version,
      executionId: executionIds.at(-1) ?? null,
      fireAt,
      execution: "UNCHANGED",
    };
  }

  /** A recurring job, as its plan is now. */
  async #planned(jobId: JobId, version: number, execution: ChangedJob["execution"]): Promise<ChangedJob> {
    const job = await this.#parts.store.queries.getJob(DEFAULT_TENANT, jobId);
    const isCurrent = job !== null && job.version === version;
    const fireAt = isCurrent ? plannedFireAt(job) : null;
    return { jobId, state: job?.state ?? "ACTIVE", version, executionId: null, fireAt, execution };
  }
}

function ahead({ scheduledAt }: JobDefinition, at: EpochMs): EpochMs | null {
  return scheduledAt > at ? scheduledAt : null;
}

function namedLike({ name, recurrence }: JobDefinition): JobFilter {
  return { ...(name !== null && { name }), ...(recurrence !== null && { type: recurrence.times.type }) };
}

/** @returns null: it is to be changed to what never fires */
function sameAsKnown(
  known: JobView | null,
  { definition, payload, ifVersion }: Pick<JobReplacement, "definition" | "payload" | "ifVersion">,
  at: EpochMs,
): ChangedJob | null {
  if (known === null || known.state === "DELETED") return null;
  const { jobId, version, state } = known;
  if (ifVersion !== null && ifVersion !== version) refuse(refusalOf({ kind: "OTHER_VERSION", version }));
  if (!isSameDefinition(known.definition, definition, at) || !isSamePayload(known, payload)) return null;
  return { jobId, state, version, executionId: null, fireAt: plannedFireAt(known), execution: "UNCHANGED" };
}

function refuse(problem: Problem): never {
  throw new ProblemError(problem);
}

function isSamePayload({ payload }: JobView, other: Uint8Array | null): boolean {
  return payload === null || other === null ? payload === other : Buffer.compare(payload, other) === 0;
}
