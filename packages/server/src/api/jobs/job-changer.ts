import type { EpochMs, ExecutionId, JobId } from "../../domain/ids.ts";
import type { JobDefinition, JobState } from "../../domain/job.ts";
import { isRecurringJobId } from "../../domain/recurrence.ts";
import { isSameDefinition } from "../../domain/same-definition.ts";
import { tracedDefinition } from "../../domain/trace.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { ApiMetrics } from "../../ports/metrics.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { JobReplacement, NamedOutcome, ReplaceOutcome, StoreJobs } from "../../ports/store-jobs.ts";
import type { JobFilter, JobView } from "../../ports/store-queries.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import type { TenantStore, TenantStores } from "../../security/tenant-stores.ts";
import type { Commands } from "../commands.ts";
import type { Lacking } from "../feature-gate.ts";
import { invalid, type Problem, ProblemError } from "../http/errors.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { type Charge, FREE, type Quotas } from "../quotas/quotas.ts";
import { loadOf } from "../quotas/submit-under.ts";
import { plannedFireAt } from "../recurring/plan-views.ts";
import { hintJobs } from "../submit/hints.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import { neverFires, type ReceivedJob } from "../submit/job-intake.ts";
import { logWarnings } from "../submit/job-warnings.ts";
import { jobRow, requireFeatures } from "../submit/new-job.ts";
import type { OwnShards } from "../submit/own-shards.ts";
import { scheduleErrors } from "../submit/recurrence-rule.ts";
import { refusalOf } from "./change-refusals.ts";
import { JobRuns } from "./job-runs.ts";

export interface ChangerDependencies {
  stores: Pick<TenantStores, "of">;
  store: { readonly jobs: Pick<StoreJobs, "putNamed" | "run"> };
  bus: Bus;
  runtime: Runtime;
  metrics: ApiMetrics;
  commands: Commands;
  orderings: PoolOrderings;
  /** Time zone data by which first fires are computed. */
  zones: TimeZoneRules;
  lacking?: Lacking | undefined;
  /** Log of values that the next release refuses; absent: none. */
  warnings?: CountedWarnings | undefined;
  ownShards?: OwnShards | undefined;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
}

/** A job after a change. */
export interface ChangedJob {
  jobId: JobId;
  state: JobState;
  version: number;
  /** Id of the newest execution that has not ended; null: there is none, or the job recurs. */
  executionId: ExecutionId | null;
  /** Planned time by the definition; null: at once, or not planned yet. */
  fireAt: EpochMs | null;
  /**
   * Definition by which the execution runs after the change. REPLACED: the new one. KEPT: the one it started with.
   * REQUESTED: the new one, unless the execution starts before its owner hears of it. UNCHANGED: the definition is the
   * same. CREATED: the execution is the job's first.
   */
  execution: "REPLACED" | "KEPT" | "REQUESTED" | "UNCHANGED" | "CREATED";
}

/** Changes accepted jobs. Refusals are thrown as `ProblemError`, and change nothing. */
export class JobChanger {
  /** Creates additional executions of jobs. */
  readonly runs: JobRuns;
  readonly #deps: ChangerDependencies;

  constructor(deps: ChangerDependencies) {
    this.#deps = deps;
    this.runs = new JobRuns(deps);
  }

  /**
   * Gives a job another definition.
   * @param ifVersion version that the job must have; null: any
   * @throws {StoreUnavailable} the job may or may not have been changed
   */
  async replace(
    tenant: Tenant,
    jobId: JobId,
    received: ReceivedJob,
    ifVersion: number | null,
    note?: AuditNote,
  ): Promise<ChangedJob> {
    const { stores, runtime, lacking } = this.#deps;
    const { job, payload, traceparent } = received;
    this.#requirePayloadFits(tenant, payload);
    const at = runtime.now();
    const definition = tracedDefinition(jobDefinition(job, at), traceparent);
    requireFeatures(definition, lacking);
    const wrong = scheduleErrors(job, at);
    if (wrong.length > 0) {
      const known = await stores.of(tenant).queries.getJob(jobId);
      return sameAsKnown(known, { definition, payload, ifVersion }, at) ?? refuse(invalid(wrong));
    }
    logWarnings(definition, this.#deps.warnings);
    const about = { jobId, definition, payload, ifVersion };
    const outcome = await stores.of(tenant).replaceJob({ ...about, commandId: runtime.uuid(), at }, note);
    const kept = withKeptKey(received, outcome);
    if (kept !== null) return await this.replace(tenant, jobId, kept, ifVersion, note);
    return this.#follow(tenant, outcome, definition, at);
  }

  /** Gives the active job with this name another definition; if there is none, submits the job. */
  async putNamed(tenant: Tenant, received: ReceivedJob, note?: AuditNote): Promise<ChangedJob> {
    const { store, bus, runtime, metrics, orderings } = this.#deps;
    const orderOf = await orderings.read();
    const at = runtime.now();
    const definition = tracedDefinition(jobDefinition(received.job, at), received.traceparent);
    logWarnings(definition, this.#deps.warnings);
    const fresh = jobRow(tenant, definition, received.payload, orderOf(definition.pool), at, this.#deps);
    if (fresh === null) return await this.#putEnded(this.#deps.stores.of(tenant), received, definition, at);
    const charge = await this.#chargeNew(tenant, fresh);
    const put = store.jobs.putNamed({ job: fresh, commandId: runtime.uuid() }, note);
    const outcome = await put.catch((error: unknown) => {
      charge.end("UNKNOWN");
      throw error;
    });
    charge.end(outcome.kind === "CREATED" ? "WRITTEN" : "NOTHING");
    const kept = withKeptKey(received, outcome);
    if (kept !== null) return await this.putNamed(tenant, kept, note);
    if (outcome.kind !== "CREATED") return this.#follow(tenant, outcome, definition, at);
    metrics.submitted(1);
    hintJobs(bus, [fresh]);
    const { jobId, executionId } = fresh;
    const fireAt = fresh.executionId === null ? fresh.firstFireAt : ahead(definition, at);
    return { jobId, state: "ACTIVE", version: 1, executionId, fireAt, execution: "CREATED" };
  }

  #requirePayloadFits(tenant: Tenant, payload: Uint8Array | null): void {
    const payloadBytes = payload?.length ?? 0;
    this.#deps.quotas?.requireFit(tenant, { jobs: 0, waiting: 0, recurring: 0, payloadBytes, bodyBytes: 0 });
  }

  /** Charges a job that is created. A put of a job that exists costs nothing. @throws {ProblemError} 429 or 413 */
  async #chargeNew(tenant: Tenant, fresh: NonNullable<ReturnType<typeof jobRow>>): Promise<Charge> {
    const { quotas, stores } = this.#deps;
    if (quotas === undefined || !quotas.limits(tenant)) return FREE;
    try {
      return await quotas.charge(tenant, loadOf([fresh]));
    } catch (error) {
      const like = namedLike(fresh.definition);
      const { items } = await stores.of(tenant).queries.listJobs(like, { after: null, limit: 10 });
      if (!(error instanceof ProblemError) || !items.some(({ state }) => state !== "DELETED")) throw error;
      this.#requirePayloadFits(tenant, fresh.payload);
      return FREE;
    }
  }

  /**
   * Answers a put of a job that has ended. A program that puts its recurring jobs at each start must not fail because
   * such a job has ended.
   */
  async #putEnded(
    { queries }: TenantStore,
    { job, payload }: ReceivedJob,
    definition: JobDefinition,
    at: EpochMs,
  ): Promise<ChangedJob> {
    const { items } = await queries.listJobs(namedLike(definition), { after: null, limit: 10 });
    const found = items.find(({ state }) => state !== "DELETED");
    const known = found === undefined ? null : await queries.getJob(found.jobId);
    return sameAsKnown(known, { definition, payload, ifVersion: null }, at) ?? refuse(neverFires(job));
  }

  /**
   * Deletes a job. @returns whether all its waiting executions are cancelled; false: their owner has not confirmed that
   * yet
   */
  async delete(tenant: Tenant, jobId: JobId, cancelRunning: boolean, note?: AuditNote): Promise<boolean> {
    const { stores, runtime, commands } = this.#deps;
    const commandId = () => runtime.uuid();
    const about = { jobId, cancelRunning, commandId, at: runtime.now() };
    const outcome = await stores.of(tenant).deleteJob(about, note);
    if (outcome.kind !== "DELETED") throw new ProblemError(refusalOf(outcome));
    const answers = await Promise.all(outcome.commands.map((command) => commands.tell(command)));
    return !answers.includes(null);
  }

  async #follow(
    tenant: Tenant,
    outcome: ReplaceOutcome | Exclude<NamedOutcome, { kind: "CREATED" }>,
    definition: JobDefinition,
    at: EpochMs,
  ): Promise<ChangedJob> {
    if (outcome.kind === "UNCHANGED") return await this.#unchanged(tenant, outcome, at);
    if (outcome.kind !== "REPLACED") throw new ProblemError(refusalOf(outcome));
    const { command, version } = outcome;
    const { jobId } = command;
    const answer = await this.#deps.commands.tell(command);
    if (command.kind === "PLAN")
      return await this.#planned(tenant, jobId, version, answer === null ? "REQUESTED" : "REPLACED");
    const execution = answer === "REPLACED" || answer === "KEPT" ? answer : "REQUESTED";
    const fireAt = execution === "KEPT" ? null : ahead(definition, at);
    return { jobId, state: "ACTIVE", version, executionId: command.executionIds.at(-1) ?? null, fireAt, execution };
  }

  async #unchanged(
    tenant: Tenant,
    outcome: Extract<ReplaceOutcome, { kind: "UNCHANGED" }>,
    at: EpochMs,
  ): Promise<ChangedJob> {
    const { jobId, version, scheduledAt, executionIds } = outcome;
    if (isRecurringJobId(jobId)) return await this.#planned(tenant, jobId, version, "UNCHANGED");
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

  /** Answer for a recurring job, by its present plan. */
  async #planned(
    tenant: Tenant,
    jobId: JobId,
    version: number,
    execution: ChangedJob["execution"],
  ): Promise<ChangedJob> {
    const job = await this.#deps.stores.of(tenant).queries.getJob(jobId);
    const isCurrent = job !== null && job.version === version;
    const fireAt = isCurrent ? plannedFireAt(job) : null;
    return { jobId, state: job?.state ?? "ACTIVE", version, executionId: null, fireAt, execution };
  }
}

/**
 * The same job with the key that it was submitted with, where policies of its handler say otherwise by now: keys of a job
 * do not change. null: the outcome is another one.
 */
function withKeptKey(received: ReceivedJob, outcome: ReplaceOutcome | NamedOutcome): ReceivedJob | null {
  const { job, declaredKeys = [] } = received;
  if (outcome.kind !== "KEY_DIFFERS" || !declaredKeys.includes(outcome.key)) return null;
  const { [outcome.key]: _, ...others } = job;
  const kept = outcome.value === null ? others : { ...others, [outcome.key]: outcome.value };
  return { ...received, job: kept, declaredKeys: declaredKeys.filter((key) => key !== outcome.key) };
}

function ahead({ scheduledAt }: JobDefinition, at: EpochMs): EpochMs | null {
  return scheduledAt > at ? scheduledAt : null;
}

function namedLike({ name, recurrence }: JobDefinition): JobFilter {
  return { ...(name !== null && { name }), ...(recurrence !== null && { type: recurrence.times.type }) };
}

/** @returns answer if the definition is the same; null: the new definition never fires */
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
