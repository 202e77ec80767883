import type { ChangedJob, JobRequest, JobSummary } from "./api-types.ts";
import { findJob, jobPath } from "./job-reference.ts";
import type { MissedJobs, OverdueJob } from "./operator-types.ts";
import type {
  BackfillRequest,
  DescribedSchedule,
  JobPlan,
  LedgerFilter,
  LedgerItem,
  PreviewedFire,
  RecurringJobRequest,
  ScheduleAnswer,
  StartedBackfill,
} from "./recurring-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/**
 * Jobs by name, and recurring jobs with their plans and outcomes. `job` is an id, or the name of a job that is not deleted.
 * Every method throws `MainspringError`.
 */
export class Jobs {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Creates the job with this name, or changes its definition to this one. A repeat changes nothing (`changed` is
   * false), so a program can call it at each start. A change applies only to executions that have not started.
   */
  upsert(name: string, job: JobRequest | RecurringJobRequest, options: ReadOptions = {}): Promise<ChangedJob> {
    return this.#requests.send("PUT", `/v1/jobs/by-name/${encodeURIComponent(name)}`, { ...job, name }, true, options);
  }

  /** The newest job of this name that is not deleted. */
  find(name: string): Promise<JobSummary | null> {
    return findJob(this.#requests, name);
  }

  /**
   * Pauses a recurring job: it does not fire until it is resumed. Executions that have fired go on, and `trigger` still
   * works.
   */
  async pause(job: string, options: ReadOptions = {}): Promise<JobPlan> {
    return this.#requests.send("POST", `${await this.#path(job, options)}/pause`, undefined, true, options);
  }

  /**
   * Resumes a paused recurring job.
   * @param options.catchUp whether the job's `misfire` rule applies to the instants within the pause; default: these are SKIPPED
   */
  async resume(job: string, options: ReadOptions & { catchUp?: boolean } = {}): Promise<JobPlan> {
    const { catchUp = false, ...rest } = options;
    return this.#requests.send("POST", `${await this.#path(job, rest)}/resume`, { catchUp }, true, rest);
  }

  /** Runs the job now, independently of its plan. @returns id of the new execution */
  async trigger(job: string, options: ReadOptions = {}): Promise<string> {
    const path = `${await this.#path(job, options)}/trigger`;
    return (await this.#requests.send<{ executionId: string }>("POST", path, undefined, false, options)).executionId;
  }

  /**
   * Runs the job for the planned instants of a past range that have not run. The server does so in the background.
   * @throws {MainspringError} CONFLICT while another backfill of the job is open
   */
  async backfill(job: string, range: BackfillRequest, options: ReadOptions = {}): Promise<StartedBackfill> {
    return this.#requests.send("POST", `${await this.#path(job, options)}/backfill`, range, false, options);
  }

  /** Lists the outcome of every planned instant, the newest first, page by page. */
  async *ledger(job: string, filter: LedgerFilter = {}): AsyncGenerator<LedgerItem, void, undefined> {
    yield* this.#requests.pages<LedgerItem>(`${await this.#path(job)}/ledger`, filter);
  }

  /**
   * Lists recurring jobs with a planned instant that has no outcome although its grace time is over, the earliest
   * first.
   * @param options.limit number of jobs; 1 to 1000
   */
  async overdue(options: ReadOptions & { limit?: number } = {}): Promise<OverdueJob[]> {
    const { limit = 100, ...rest } = options;
    return (await this.#requests.get<{ items: OverdueJob[] }>(`/v1/overdue-jobs?limit=${limit}`, rest)).items;
  }

  /** Lists recurring jobs whose ledgers have MISSED instants within the last day, the earliest instant first. */
  async missed(options: ReadOptions = {}): Promise<MissedJobs> {
    return this.#requests.get<MissedJobs>("/v1/missed-jobs", options);
  }

  /** Lists the next planned times of a job. @param options.count 1 to 1000, default 10 */
  async nextFires(job: string, options: ReadOptions & { count?: number } = {}): Promise<PreviewedFire[]> {
    return (await this.describeSchedule(job, options)).fires;
  }

  /** Says in words what the schedule of a job means, and lists its next planned times. @param options.count 1 to 1000, default 10 */
  async describeSchedule(job: string, options: ReadOptions & { count?: number } = {}): Promise<DescribedSchedule> {
    const { count = 10, ...rest } = options;
    const path = `${await this.#path(job, rest)}/next-fires?count=${count}`;
    const { words = null, fires } = await this.#requests.get<ScheduleAnswer>(path, rest);
    return { words, fires };
  }

  #path(job: string, options: ReadOptions = {}): Promise<string> {
    return jobPath(this.#requests, job, options);
  }
}
