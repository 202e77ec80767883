import { DEFAULT_WEIGHT } from "../../domain/tenant.ts";
import type { ApiMetrics } from "../../ports/metrics.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";
import { type Store, StoreUnavailable, type Submission, type SubmitOutcome } from "../../ports/store.ts";
import { isWorkflow } from "../../ports/store-runs.ts";
import type { TenantRing } from "../../security/tenant-ring.ts";
import { busy } from "../http/errors.ts";
import { FairQueue, type Queued } from "./fair-queue.ts";

export interface SubmitLimits {
  /** Jobs and bytes of payload that wait or are being written. Beyond them submits are turned away. */
  jobs: number;
  bytes: number;
  /** Jobs and bytes of one commit; a submission is never divided. */
  commitJobs: number;
  commitBytes: number;
  commitsInFlight: number;
  /** While a commit is under way the next one leaves when so many jobs wait. */
  crowdJobs: number;
}

export const SUBMIT_LIMITS: SubmitLimits = {
  jobs: 20_000,
  bytes: 64 * 1024 * 1024,
  commitJobs: 2_000,
  commitBytes: 16 * 1024 * 1024,
  // A second commit keeps the store busy while the first one's answer is under way; more only make groups smaller,
  commitsInFlight: 2,
  // and so does a second one for a few: a commit costs as much as some twenty jobs in it.
  crowdJobs: 32,
};

/** Submissions that are answered in one turn of the event loop when their commit is through. */
const SETTLED_PER_TURN = 200;

interface Waiting extends Queued {
  submission: Submission;
  resolve(outcome: SubmitOutcome): void;
  reject(error: unknown): void;
}

interface SubmitterDependencies {
  store: Pick<Store, "submit">;
  runtime: Runtime;
  metrics: ApiMetrics;
  /** Told of all that a commit wrote; no submitter has its answer before the promise resolves. null: at once. */
  written(submissions: readonly Submission[], outcomes: readonly SubmitOutcome[]): Promise<void> | null;
  /** Tenants in the memory of the node; left out: there is only `default`. */
  tenants?: Pick<TenantRing, "get" | "hasSeveral"> | undefined;
}

/**
 * Group commit in front of the store: what arrives in one turn of the loop, or while commits are under way, goes into the
 * next one together. An idle store is asked at once, so that one submit alone waits for nobody.
 */
export class Submitter {
  readonly #deps: SubmitterDependencies;
  readonly #limits: SubmitLimits;
  readonly #queue: FairQueue<Waiting>;
  /** In the queue. */
  #waitingJobs = 0;
  /** Jobs and bytes of each tenant that wait or are being written. */
  readonly #shares = new Map<string, { jobs: number; bytes: number }>();
  #isDispatching = false;
  #jobs = 0;
  #bytes = 0;
  #inFlight = 0;

  constructor(deps: SubmitterDependencies, limits: SubmitLimits = SUBMIT_LIMITS) {
    this.#deps = deps;
    this.#limits = limits;
    this.#queue = new FairQueue((tenant) => deps.tenants?.get(tenant)?.weight ?? DEFAULT_WEIGHT);
  }

  /**
   * @throws {ProblemError} 429 while too much waits; nothing was written then
   * @throws {StoreUnavailable} it may or may not have been written
   */
  submit(submission: Submission): Promise<SubmitOutcome> {
    const bytes = submission.jobs.reduce((sum, job) => sum + bytesOf(job), 0);
    const jobs = submission.jobs.length;
    const tenant = submission.jobs[0]?.tenant ?? submission.idempotency?.tenant ?? "";
    const share = this.#shares.get(tenant) ?? { jobs: 0, bytes: 0 };
    if (this.#isFull(share, jobs, bytes)) {
      return Promise.reject(busy("too-many-requests", "too many submits wait for the store", 1));
    }
    this.#jobs += jobs;
    this.#bytes += bytes;
    if (share.jobs === 0) this.#shares.set(tenant, share);
    share.jobs += jobs;
    share.bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ tenant, jobs, submission, bytes, resolve, reject });
      this.#waitingJobs += jobs;
      this.#dispatchSoon();
    });
  }

  /**
   * A tenant beside others may fill at most half of what is free, so that there is room for the next one. A tenant of which nothing
   * waits may always bring one submission, if there is room for it.
   * @param own part of the tenant
   */
  #isFull(own: { jobs: number; bytes: number }, jobs: number, bytes: number): boolean {
    if (this.#jobs === 0) return false;
    const [freeJobs, freeBytes] = [this.#limits.jobs - this.#jobs - jobs, this.#limits.bytes - this.#bytes - bytes];
    if (freeJobs < 0 || freeBytes < 0) return true;
    if (own.jobs === 0 || this.#deps.tenants?.hasSeveral !== true) return false;
    return own.jobs + jobs > freeJobs || own.bytes + bytes > freeBytes;
  }

  /** At the end of the turn: what was read from many connections at once leaves together. */
  #dispatchSoon(): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    atEndOfTurn(this.#deps.runtime, () => {
      this.#isDispatching = false;
      this.#dispatch();
    });
  }

  /** One commit a turn: to make the statements of a large one takes a good part of it. */
  #dispatch(): void {
    if (this.#queue.isEmpty || !this.#mayCommit) return;
    this.#inFlight++;
    void this.#commit(this.#takeGroup());
    if (!this.#queue.isEmpty && this.#mayCommit) this.#dispatchSoon();
  }

  get #mayCommit(): boolean {
    const { commitsInFlight, crowdJobs } = this.#limits;
    return this.#inFlight === 0 || (this.#inFlight < commitsInFlight && this.#waitingJobs >= crowdJobs);
  }

  #takeGroup(): Waiting[] {
    const { commitJobs, commitBytes } = this.#limits;
    const group = this.#queue.take({ jobs: commitJobs, bytes: commitBytes });
    for (const { jobs } of group) this.#waitingJobs -= jobs;
    return group;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const settle = await this.#settling(group);
    for (const [index, waiting] of group.slice(0, SETTLED_PER_TURN).entries()) settle(waiting, index);
    this.#inFlight--;
    this.#release(group);
    this.#dispatch();
    for (let index = SETTLED_PER_TURN; index < group.length; index++) {
      if (index % SETTLED_PER_TURN === 0) await this.#nextTurn();
      settle(group[index] as Waiting, index);
    }
  }

  async #settling(group: readonly Waiting[]): Promise<(waiting: Waiting, index: number) => void> {
    try {
      const outcomes = await this.#write(group.map(({ submission }) => submission));
      return ({ resolve }, index) => resolve(outcomes[index] as SubmitOutcome);
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#deps.metrics.storeOutage();
      return ({ reject }) => reject(error);
    }
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => atEndOfTurn(this.#deps.runtime, resolve));
  }

  async #write(submissions: readonly Submission[]): Promise<SubmitOutcome[]> {
    const { store, runtime, metrics, written } = this.#deps;
    const beganMs = runtime.monotonicMs();
    const outcomes = await store.submit(submissions);
    const jobs = submissions.reduce((sum, { jobs }) => sum + jobs.length, 0);
    metrics.submitCommit({ durationMs: runtime.monotonicMs() - beganMs, jobs });
    const told = written(submissions, outcomes);
    if (told !== null) await told;
    return outcomes;
  }

  #release(group: readonly Waiting[]): void {
    for (const { tenant, jobs, bytes } of group) {
      this.#jobs -= jobs;
      this.#bytes -= bytes;
      const share = this.#shares.get(tenant);
      if (share === undefined) continue;
      share.jobs -= jobs;
      share.bytes -= bytes;
      if (share.jobs === 0) this.#shares.delete(tenant);
    }
  }
}

/** Bytes that a commit writes of a job beside its fields of bounded size. */
function bytesOf(job: Submission["jobs"][number]): number {
  const own = job.payload?.length ?? 0;
  if (!isWorkflow(job)) return own;
  return job.payloads.reduce(
    (sum, { payload }) => sum + payload.length,
    own + job.graph.length + job.definitions.length,
  );
}
