import { createHash } from "node:crypto";
import { DEFAULT_TENANT, type EpochMs, type JobId } from "../domain/ids.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { AcceptedJob, NewJob, Submission, SubmitOutcome } from "../ports/store.ts";
import type { StoreQueries } from "../ports/store-queries.ts";
import { ProblemError, problem } from "./errors.ts";
import { formatInstant } from "./instants.ts";
import { jobDefinition, scheduledAt } from "./job-definition.ts";
import { newJob } from "./new-job.ts";
import type { PoolOrders } from "./pool-orders.ts";
import type { DeduplicatedBody, JobSubmission, SubmittedBody } from "./schemas/job.ts";
import type { Submitter } from "./submitter.ts";

/** A job whose schema was met, and the bytes of its payload. */
export interface ReceivedJob {
  job: JobSubmission;
  payload: Uint8Array | null;
}

export type Idempotency = Submission["idempotency"];

export interface TakenJobs {
  replayed: boolean;
  /** One a job, in order. */
  bodies: (SubmittedBody | DeduplicatedBody)[];
}

/** Brings received jobs to the store. */
export class JobIntake {
  readonly #submitter: Submitter;
  readonly #orders: PoolOrders;
  readonly #queries: Pick<StoreQueries, "getJob">;
  readonly #runtime: Runtime;

  constructor(submitter: Submitter, orders: PoolOrders, queries: Pick<StoreQueries, "getJob">, runtime: Runtime) {
    this.#submitter = submitter;
    this.#orders = orders;
    this.#queries = queries;
    this.#runtime = runtime;
  }

  /**
   * Takes all of the jobs or none.
   * @throws {ProblemError} 422 where the idempotency key was used with another request, 429 while too much waits
   * @throws {StoreUnavailable}
   */
  async take(received: readonly ReceivedJob[], idempotency: Idempotency): Promise<TakenJobs> {
    const orderOf = await this.#orders.read();
    const createdAt = this.#runtime.now();
    const jobs = received.map(({ job, payload }): NewJob => {
      const definition = jobDefinition(job, createdAt);
      return newJob(definition, payload, orderOf(definition.pool), createdAt, this.#runtime);
    });
    const outcome = accepted(await this.#submitter.submit({ idempotency, jobs }));
    if (outcome.replayed) return { replayed: true, bodies: await this.#repeatedBodies(received, outcome.jobs) };
    const bodies = jobs.map(({ definition }, index) => {
      return submittedBody(outcome.jobs[index] as AcceptedJob, definition.scheduledAt, createdAt);
    });
    return { replayed: false, bodies };
  }

  /** As they were answered the first time. */
  async #repeatedBodies(received: readonly ReceivedJob[], taken: readonly AcceptedJob[]): Promise<TakenJobs["bodies"]> {
    const bodies: TakenJobs["bodies"] = [];
    for (const [index, accepted] of taken.entries()) {
      const { job } = received[index] as ReceivedJob;
      const createdAt = await this.#createdAt(accepted.jobId, job);
      bodies.push(submittedBody(accepted, scheduledAt(job, createdAt), createdAt));
    }
    return bodies;
  }

  /** Only a delay needs to know it to the millisecond; for the rest the time in the id will do. */
  async #createdAt(jobId: JobId, { delayMs = 0 }: JobSubmission): Promise<EpochMs> {
    const row = delayMs > 0 ? await this.#queries.getJob(DEFAULT_TENANT, jobId) : null;
    return row?.createdAt ?? Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16);
  }
}

/** @param body the request's bytes: a repeat must have the same */
export function idempotencyOf(key: string | undefined, path: string, body: Buffer): Idempotency {
  if (key === undefined) return null;
  const requestHash = createHash("sha256").update(`POST ${path}\n`).update(body).digest("hex");
  return { tenant: DEFAULT_TENANT, key, requestHash };
}

function accepted(outcome: SubmitOutcome): Extract<SubmitOutcome, { kind: "ACCEPTED" }> {
  if (outcome.kind === "ACCEPTED") return outcome;
  const detail = "this Idempotency-Key was used with another request: take a new one";
  throw new ProblemError(problem("idempotency-key-reused", detail));
}

function submittedBody(taken: AcceptedJob, fireAt: EpochMs, createdAt: EpochMs): SubmittedBody | DeduplicatedBody {
  const { jobId, executionId } = taken;
  if (taken.deduplicated) return { jobId, state: "ACTIVE", executionId, deduplicated: true };
  return { jobId, state: "ACTIVE", nextFireAt: fireAt > createdAt ? formatInstant(fireAt) : null, executionId };
}
