import type { ApiMetrics } from "../../ports/metrics.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";
import { type Store, StoreUnavailable, type Submission, type SubmitOutcome } from "../../ports/store.ts";
import { isWorkflow } from "../../ports/store-runs.ts";
import { busy } from "../http/errors.ts";

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

interface Waiting {
  submission: Submission;
  bytes: number;
  resolve(outcome: SubmitOutcome): void;
  reject(error: unknown): void;
}

interface SubmitterDependencies {
  store: Pick<Store, "submit">;
  runtime: Runtime;
  metrics: ApiMetrics;
  /** Told of all that a commit wrote; no submitter has its answer before the promise resolves. null: at once. */
  written(submissions: readonly Submission[], outcomes: readonly SubmitOutcome[]): Promise<void> | null;
}

/**
 * Group commit in front of the store: what arrives in one turn of the loop, or while commits are under way, goes into the
 * next one together. An idle store is asked at once, so that one submit alone waits for nobody.
 */
export class Submitter {
  readonly #deps: SubmitterDependencies;
  readonly #limits: SubmitLimits;
  #queue: Waiting[] = [];
  /** In the queue. */
  #waitingJobs = 0;
  #isDispatching = false;
  #jobs = 0;
  #bytes = 0;
  #inFlight = 0;

  constructor(deps: SubmitterDependencies, limits: SubmitLimits = SUBMIT_LIMITS) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /**
   * @throws {ProblemError} 429 while too much waits; nothing was written then
   * @throws {StoreUnavailable} it may or may not have been written
   */
  submit(submission: Submission): Promise<SubmitOutcome> {
    const bytes = submission.jobs.reduce((sum, job) => sum + bytesOf(job), 0);
    if (this.#isFull(submission.jobs.length, bytes)) {
      return Promise.reject(busy("too-many-requests", "too many submits wait for the store", 1));
    }
    this.#jobs += submission.jobs.length;
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ submission, bytes, resolve, reject });
      this.#waitingJobs += submission.jobs.length;
      this.#dispatchSoon();
    });
  }

  #isFull(jobs: number, bytes: number): boolean {
    if (this.#jobs === 0) return false;
    return this.#jobs + jobs > this.#limits.jobs || this.#bytes + bytes > this.#limits.bytes;
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
    if (this.#queue.length === 0 || !this.#mayCommit) return;
    this.#inFlight++;
    void this.#commit(this.#takeGroup());
    if (this.#queue.length > 0 && this.#mayCommit) this.#dispatchSoon();
  }

  get #mayCommit(): boolean {
    const { commitsInFlight, crowdJobs } = this.#limits;
    return this.#inFlight === 0 || (this.#inFlight < commitsInFlight && this.#waitingJobs >= crowdJobs);
  }

  #takeGroup(): Waiting[] {
    let jobs = 0;
    let bytes = 0;
    const fits = (waiting: Waiting, index: number) => {
      jobs += waiting.submission.jobs.length;
      bytes += waiting.bytes;
      return index === 0 || (jobs <= this.#limits.commitJobs && bytes <= this.#limits.commitBytes);
    };
    const end = this.#queue.findIndex((waiting, index) => !fits(waiting, index));
    const group = this.#queue.splice(0, end === -1 ? this.#queue.length : end);
    for (const { submission } of group) this.#waitingJobs -= submission.jobs.length;
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
    for (const { submission, bytes } of group) {
      this.#jobs -= submission.jobs.length;
      this.#bytes -= bytes;
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
