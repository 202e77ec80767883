import type { DeduplicatedBody, JobSubmission, SubmittedBody } from "@mainspring/contract";
import type { EpochMs, JobId } from "../../domain/ids.ts";
import type { JobDefinition } from "../../domain/job.ts";
import { idTimeMs } from "../../domain/occurrence-id.ts";
import { isRecurringJobId, scheduleOf } from "../../domain/recurrence.ts";
import { firstFire } from "../../domain/schedule/fires.ts";
import { tracedDefinition } from "../../domain/trace.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { AcceptedJob, Submission, SubmitOutcome } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import { Turns } from "../../ports/turns.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { ReceivedBody } from "../http/body/body-reader.ts";
import { invalid, type Problem, ProblemError, problem } from "../http/errors.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import type { Charge, Quotas } from "../quotas/quotas.ts";
import { submitUnder } from "../quotas/submit-under.ts";
import { jobDefinition } from "./job-definition.ts";
import { jobWarnings, logWarnings } from "./job-warnings.ts";
import { type JobMaker, jobRow } from "./new-job.ts";
import type { Submitter } from "./submitter.ts";

/** A job whose schema was met, and the bytes of its payload. */
export interface ReceivedJob {
  job: JobSubmission;
  payload: Uint8Array | null;
  /** Header of the request; left out: none. */
  traceparent?: string | undefined;
  /** Keys that were filled in from the policies of its handler; left out: none. */
  declaredKeys?: readonly ("concurrencyKey" | "uniqueKey")[];
}

type Accepted = Extract<SubmitOutcome, { kind: "ACCEPTED" }>;
/** Idempotency key of a request; null: none. Its tenant is that of the caller. */
export type Idempotency = (NonNullable<Submission["idempotency"]> & { tenant: Tenant }) | null;

export interface TakenJobs {
  replayed: boolean;
  /** One a job, in order. `error`: nothing was written of this one. */
  bodies: (SubmittedBody | DeduplicatedBody | { error: Problem })[];
}

export interface IntakeDependencies extends JobMaker {
  /** Asks the store for its time, so that `runtime.now` counts from a clock that was just set. */
  clock: { look(): Promise<void> };
  submitter: Submitter;
  orderings: PoolOrderings;
  stores: Pick<TenantStores, "of">;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
}

/** Brings received jobs to the store. */
export class JobIntake {
  /** Turns of the event loop for all requests that bring jobs. */
  readonly turns: Turns;
  readonly #deps: IntakeDependencies;

  constructor(deps: IntakeDependencies) {
    this.#deps = deps;
    this.turns = new Turns(deps.runtime);
  }

  /**
   * Takes all of the jobs or none, but for those whose name another recurring job has.
   * @throws {ProblemError} 422 where the idempotency key was used with another request, 429 while too much waits
   * @param note fact for the audit log; null: none
   * @param charge the jobs are charged to the quotas of the tenant already; left out: they are not
   * @throws {StoreUnavailable}
   */
  async take(
    tenant: Tenant,
    received: readonly ReceivedJob[],
    idempotency: Idempotency,
    note: AuditNote | null = null,
    charge?: Charge,
  ): Promise<TakenJobs> {
    const { orderings, runtime, clock } = this.#deps;
    const orderOf = await orderings.read();
    // A delay counts from the store's time now: were its clock set back a moment ago, the job would wait for as long.
    if (received.some(({ job }) => isDelayed(job))) await clock.look();
    const createdAt = runtime.now();
    const rows = await this.turns.map(received, ({ job, payload, traceparent }) => {
      const definition = tracedDefinition(jobDefinition(job, createdAt), traceparent);
      logWarnings(definition, this.#deps.warnings);
      return jobRow(tenant, definition, payload, orderOf(definition.pool), createdAt, this.#deps);
    });
    const jobs = rows.filter((row) => row !== null);
    const isWhole = jobs.length === rows.length;
    const outcome = isWhole
      ? accepted(await this.#submit(tenant, { idempotency, jobs, ...noted(note, jobs) }, charge))
      : await this.answered(idempotency, (received[rows.indexOf(null)] as ReceivedJob).job);
    if (outcome.replayed) return { replayed: true, bodies: await this.#repeatedBodies(tenant, received, outcome.jobs) };
    const bodies = await this.turns.map(jobs, ({ definition }, index) => {
      return takenBody(outcome.jobs[index] as AcceptedJob, definition, createdAt);
    });
    return { replayed: false, bodies };
  }

  #submit(tenant: Tenant, submission: Submission, charge: Charge | undefined): Promise<SubmitOutcome> {
    const { submitter, quotas, stores } = this.#deps;
    const answered = (key: NonNullable<Submission["idempotency"]>) => stores.of(tenant).answered(key);
    const submit = (whole: Submission) => submitter.submit(whole);
    return submitUnder({ quotas, answered, submit }, tenant, submission, 0, charge);
  }

  /** Whether a request with this key was answered before: a repeat is answered the same way. @throws {StoreUnavailable} */
  async wasAnswered(idempotency: Idempotency): Promise<boolean> {
    return idempotency !== null && (await this.#answer(idempotency)) !== null;
  }

  /**
   * Answer to a repeat of a job that never fires. The schedule may have come to its end since the first submit; the
   * server answers the repeat all the same.
   * @throws {ProblemError} 400: it is no repeat
   */
  async answered(idempotency: Idempotency, job: JobSubmission): Promise<Accepted> {
    const outcome = idempotency === null ? null : await this.#answer(idempotency);
    if (outcome === null) throw new ProblemError(neverFires(job));
    return accepted(outcome);
  }

  #answer(idempotency: NonNullable<Idempotency>): Promise<SubmitOutcome | null> {
    return this.#deps.stores.of(idempotency.tenant).answered(idempotency);
  }

  /** As they were answered the first time. */
  async #repeatedBodies(
    tenant: Tenant,
    received: readonly ReceivedJob[],
    taken: readonly AcceptedJob[],
  ): Promise<TakenJobs["bodies"]> {
    const bodies: TakenJobs["bodies"] = [];
    for (const [index, accepted] of taken.entries()) {
      if (index > 0 && this.turns.isOver) await this.turns.next();
      const { job } = received[index] as ReceivedJob;
      const createdAt = await this.takenAt(tenant, accepted.jobId, job);
      bodies.push(takenBody(accepted, jobDefinition(job, createdAt), createdAt));
    }
    return bodies;
  }

  /**
   * Time at which a job was taken. Only what is counted from it needs to know it to the millisecond; for the rest the
   * time in the id will do.
   */
  async takenAt(tenant: Tenant, jobId: JobId, job: JobSubmission): Promise<EpochMs> {
    const isCounted = isDelayed(job) || isRecurringJobId(jobId);
    const row = isCounted ? await this.#deps.stores.of(tenant).queries.getJob(jobId) : null;
    return row?.createdAt ?? idTimeMs(jobId);
  }
}

function isDelayed({ delayMs = 0 }: JobSubmission): boolean {
  return delayMs > 0;
}

/** A repeat must have the same path and body. */
export function idempotencyOf(
  tenant: Tenant,
  key: string | undefined,
  received: Pick<ReceivedBody, "hash"> | null,
): Idempotency {
  const requestHash = received?.hash ?? null;
  return key === undefined || requestHash === null ? null : { tenant, key, requestHash };
}

/** @throws {ProblemError} the submission was refused */
export function accepted(outcome: SubmitOutcome): Accepted {
  if (outcome.kind === "ACCEPTED") return outcome;
  throw new ProblemError(problemOf(outcome));
}

/** Problem of a submission that was refused. */
export function problemOf(outcome: Exclude<SubmitOutcome, { kind: "ACCEPTED" }>): Problem {
  switch (outcome.kind) {
    case "KEY_REUSED":
      return problem("idempotency-key-reused", "this Idempotency-Key was used with another request: take a new one");
    case "REFUSED":
      return invalid([
        { field: "", message: `cannot be stored: ${outcome.message}. Nothing was written; send other data` },
      ]);
  }
}

function takenBody(taken: AcceptedJob, definition: JobDefinition, createdAt: EpochMs): TakenJobs["bodies"][number] {
  const { jobId, executionId, nameHeldBy } = taken;
  if (nameHeldBy !== undefined) return { error: nameInUse(nameHeldBy) };
  if (executionId === null) {
    const nextFireAt = firstFireOf(definition, jobId, createdAt);
    return { jobId, state: "ACTIVE", nextFireAt, ...jobWarnings(definition) };
  }
  if (taken.deduplicated) return { jobId, state: "ACTIVE", executionId, deduplicated: true };
  const { scheduledAt } = definition;
  return {
    jobId,
    state: "ACTIVE",
    nextFireAt: scheduledAt > createdAt ? formatInstant(scheduledAt) : null,
    executionId,
    ...jobWarnings(definition),
  };
}

/** First planned instant of a job that was taken at a time; null: the job does not recur. */
export function firstFireOf({ recurrence }: JobDefinition, jobId: JobId, createdAt: EpochMs): string | null {
  return formatInstantOrNull(recurrence && firstFire(scheduleOf(recurrence, jobId, createdAt), createdAt));
}

/** Its schedule was found good; it has come to its end. */
export function neverFires({ endAt }: JobSubmission): Problem {
  const field = endAt === undefined ? "schedule" : "endAt";
  const message =
    endAt === undefined ? "never fires" : "leaves no fire between now and itself: choose it later, or leave it out";
  return invalid([{ field, message }]);
}

export function nameInUse(jobId: JobId): Problem {
  return problem("name-in-use", `job ${jobId} has the name: choose another, or PUT that job by its name or id`);
}

/** The note of a submission, which names the first of its jobs. */
export function noted(note: AuditNote | null, jobs: readonly { jobId: string }[]): { note?: AuditNote } {
  const target = jobs[0]?.jobId ?? null;
  return note === null ? {} : { note: { ...note, target, detail: { count: jobs.length } } };
}
