import type { ChangedJob, JobRequest, JobSummary, PreviewedFire } from "./api-types.ts";
import type { MissedJobs, OverdueJob } from "./operator-types.ts";
import type {
  BackfillRequest,
  JobPlan,
  LedgerFilter,
  LedgerItem,
  RecurringJobRequest,
  StartedBackfill,
} from "./recurring-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/**
 * Jobs that are known by a name, and recurring jobs: their plans and what became of them. Every method throws
 * `MainspringError`.
 */
export class Jobs {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Makes the job of this name what it is to be, and submits it where there is none. A repeat changes nothing (`changed` is
   * false): a program says so at each of its starts. An edit replaces only what is still to come.
   */
  upsert(name: string, job: JobRequest | RecurringJobRequest, options: ReadOptions = {}): Promise<ChangedJob> {
    return this.#requests.send("PUT", `/v1/jobs/by-name/${encodeURIComponent(name)}`, { ...job, name }, true, options);
  }

  /** The newest job of this name that is not deleted. */
  async find(name: string): Promise<JobSummary | null> {
    for await (const job of this.#requests.pages<JobSummary>("/v1/jobs", { name })) {
      if (job.state !== "DELETED") return job;
    }
    return null;
  }

  /** It does not fire until it is resumed. Executions that have fired run on, and the job can be triggered. */
  pause(jobId: string, options: ReadOptions = {}): Promise<JobPlan> {
    return this.#requests.send("POST", `${pathOf(jobId)}/pause`, undefined, true, options);
  }

  /** @param options.catchUp whether what fell into the pause is treated as `misfire` says; default: it was SKIPPED */
  resume(jobId: string, options: ReadOptions & { catchUp?: boolean } = {}): Promise<JobPlan> {
    const { catchUp = false, ...rest } = options;
    return this.#requests.send("POST", `${pathOf(jobId)}/resume`, { catchUp }, true, rest);
  }

  /** Runs it now, whatever it has planned. @returns the new execution's id */
  async trigger(jobId: string, options: ReadOptions = {}): Promise<string> {
    const path = `${pathOf(jobId)}/trigger`;
    return (await this.#requests.send<{ executionId: string }>("POST", path, undefined, false, options)).executionId;
  }

  /**
   * Runs it for the planned instants of a past range that have not run. It goes on in the server.
   * @throws {MainspringError} CONFLICT while another backfill of the job is open
   */
  backfill(jobId: string, range: BackfillRequest, options: ReadOptions = {}): Promise<StartedBackfill> {
    return this.#requests.send("POST", `${pathOf(jobId)}/backfill`, range, false, options);
  }

  /** Outcome of every planned instant, newest first, read page by page. */
  ledger(jobId: string, filter: LedgerFilter = {}): AsyncGenerator<LedgerItem, void, undefined> {
    return this.#requests.pages(`${pathOf(jobId)}/ledger`, filter);
  }

  /**
   * Recurring jobs with a planned instant that nothing has accounted for, later than their grace; earliest first.
   * @param options.limit 1 to 1000
   */
  async overdue(options: ReadOptions & { limit?: number } = {}): Promise<OverdueJob[]> {
    const { limit = 100, ...rest } = options;
    return (await this.#requests.get<{ items: OverdueJob[] }>(`/v1/overdue-jobs?limit=${limit}`, rest)).items;
  }

  /** Recurring jobs with planned instants of the last day that are MISSED in their ledgers; the earliest instant first. */
  async missed(options: ReadOptions = {}): Promise<MissedJobs> {
    return this.#requests.get<MissedJobs>("/v1/missed-jobs", options);
  }

  /** When it fires next. @param options.count 1 to 1000, default 10 */
  async nextFires(jobId: string, options: ReadOptions & { count?: number } = {}): Promise<PreviewedFire[]> {
    const { count = 10, ...rest } = options;
    const path = `${pathOf(jobId)}/next-fires?count=${count}`;
    return (await this.#requests.get<{ fires: PreviewedFire[] }>(path, rest)).fires;
  }
}

function pathOf(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}`;
}
