import {
  type BatchItem,
  type BatchRefusal,
  type ChangedJob,
  type Execution,
  type ExecutionFilter,
  type ExecutionSummary,
  FINAL_STATES,
  type Job,
  type JobFilter,
  type JobRequest,
  type JobSummary,
  type PreviewedFire,
  type SchedulePreviewRequest,
  type SubmittedJob,
  type SubmittedRecurringJob,
} from "./api-types.ts";
import { Cluster } from "./cluster.ts";
import { DeadLetters } from "./dead-letters.ts";
import { MainspringError } from "./errors.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { apiKeyOf } from "./headers.ts";
import { Http, type HttpAnswer } from "./http.ts";
import { Jobs } from "./jobs.ts";
import type { ExecutionEvent, Explanation, Stats, TimeZoneData, WorkerDetail, WorkerInfo } from "./operator-types.ts";
import { Pools } from "./pools.ts";
import type { RecurringJobRequest } from "./recurring-types.ts";
import { type ReadOptions, Requests } from "./requests.ts";
import { type Runtime, sleep } from "./runtime.ts";
import { systemRuntime } from "./system-runtime.ts";

export interface ClientOptions {
  /** Default: the environment's MAINSPRING_URL, else http://127.0.0.1:8080. */
  url?: string;
  /** Default: the environment's MAINSPRING_API_KEY; sent as a bearer token where there is one. */
  apiKey?: string;
  /**
   * How long a request is repeated where that is safe, in milliseconds from its first failure; 0 to 3_600_000, default
   * 30_000. The waits grow to 5 seconds, with jitter. An answer that says that the request is wrong ends it at once.
   */
  retryForMs?: number;
  /** How often a request is repeated at most; 0 to 20, default: as often as `retryForMs` allows. */
  retries?: number;
  /** How long one answer may take; default 30_000. */
  timeoutMs?: number;
  /** Default: the platform's. */
  fetch?: typeof fetch;
  runtime?: Runtime;
  /**
   * Hears that requests have been repeated for a second and more; one message in 30 seconds at most. Default: standard
   * error.
   */
  warn?(message: string): void;
}

export interface SubmitOptions {
  /**
   * Names this submit: a later submit with the same key and request submits nothing, and is answered as the first one
   * was, also after the job has run. A program that is not sure whether it has submitted, because it crashed or gave
   * up, repeats the submit with the same key. Default: a new key for each call, so that the client's own repeats submit
   * once.
   */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** The longest that the server waits in one request. */
const WAIT_MAX_SEC = 60;
/** Least time between two requests of a wait for an execution. */
const ASK_EVERY_MS = 1_000;

/** The HTTP api of a Mainspring server. Every method throws `MainspringError`. */
export class Client {
  readonly url: string;
  readonly #runtime: Runtime;
  /** Executions that used up their budget: to look at, run again or let go. */
  readonly deadLetters: DeadLetters;
  /** Queues: to look at, pause, resume and set up. */
  readonly pools: Pools;
  /** Jobs by their names, and recurring jobs: upsert, pause, trigger, backfill, ledger. */
  readonly jobs: Jobs;
  /** The servers: to look at, and to empty before they are stopped. */
  readonly cluster: Cluster;
  readonly #http: Http;
  readonly #requests: Requests;

  constructor(options: ClientOptions = {}) {
    this.url = urlOf(options.url ?? process.env.MAINSPRING_URL ?? "http://127.0.0.1:8080");
    this.#runtime = options.runtime ?? systemRuntime(true);
    this.#http = new Http({
      url: this.url,
      apiKey: apiKeyOf(options.apiKey),
      repeats: {
        times: options.retries === undefined ? Number.POSITIVE_INFINITY : wholeOf("retries", options.retries, 20),
        forMs: wholeOf("retryForMs", options.retryForMs ?? 30_000, 3_600_000),
      },
      timeoutMs: options.timeoutMs ?? 30_000,
      fetch: options.fetch ?? fetch,
      runtime: this.#runtime,
      warn: options.warn ?? ((message) => console.error(`mainspring client: ${message}`)),
    });
    this.#requests = new Requests(this.#http);
    this.deadLetters = new DeadLetters(this.#requests);
    this.pools = new Pools(this.#requests);
    this.jobs = new Jobs(this.#requests);
    this.cluster = new Cluster(this.#requests, this.#runtime);
  }

  /** One that recurs is better said by `jobs.upsert`, which may be repeated. */
  async submit(job: RecurringJobRequest, options?: SubmitOptions): Promise<SubmittedRecurringJob>;
  async submit(job: JobRequest, options?: SubmitOptions): Promise<SubmittedJob>;
  async submit(
    job: JobRequest | RecurringJobRequest,
    options: SubmitOptions = {},
  ): Promise<SubmittedJob | SubmittedRecurringJob> {
    return (await this.#post("/v1/jobs", job, options)).body as SubmittedJob;
  }

  /** Up to 10,000 jobs and 32 MiB. The answer has an item for each, in order; a bad one does not stop the others. */
  async submitBatch(
    jobs: readonly RecurringJobRequest[],
    options?: SubmitOptions,
  ): Promise<(SubmittedRecurringJob | BatchRefusal)[]>;
  async submitBatch(jobs: readonly JobRequest[], options?: SubmitOptions): Promise<BatchItem[]>;
  async submitBatch(
    jobs: readonly (JobRequest | RecurringJobRequest)[],
    options: SubmitOptions = {},
  ): Promise<(BatchItem | SubmittedRecurringJob)[]> {
    const answer = await this.#post("/v1/jobs/batch", { jobs }, options);
    return (answer.body as { items: BatchItem[] }).items;
  }

  getJob(jobId: string, options: ReadOptions = {}): Promise<Job> {
    return this.#get<Job>(jobPath(jobId), options);
  }

  /** Newest first, page by page as they are asked for. */
  listJobs(filter: JobFilter = {}): AsyncGenerator<JobSummary, void, undefined> {
    return this.#pages<JobSummary>("/v1/jobs", { ...filter });
  }

  /**
   * Replaces the definition. Executions that wait run by the new definition; an execution that a worker has keeps the
   * old one, as the answer says.
   * @param options.ifVersion the version that it is to have
   * @throws {MainspringError} PRECONDITION_FAILED where it has another; CONFLICT where it is not ACTIVE
   */
  async replaceJob(
    jobId: string,
    job: JobRequest | RecurringJobRequest,
    options: ReadOptions & { ifVersion?: number } = {},
  ): Promise<ChangedJob> {
    const { ifVersion, signal } = options;
    // With a version a repeat of what was done already would be refused.
    const idempotent = ifVersion === undefined;
    const request = { method: "PUT" as const, path: jobPath(jobId), body: job, idempotent, signal };
    const headers = ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
    return (await this.#http.send({ ...request, headers })).body as ChangedJob;
  }

  /** The same as `jobs.upsert`. */
  putJobByName(name: string, job: JobRequest | RecurringJobRequest, options: ReadOptions = {}): Promise<ChangedJob> {
    return this.jobs.upsert(name, job, options);
  }

  /** Cancels waiting executions; executions at a worker run on, unless `cancelRunning`. Its history stays. */
  async deleteJob(jobId: string, options: ReadOptions & { cancelRunning?: boolean } = {}): Promise<void> {
    const { cancelRunning = false, signal } = options;
    const path = jobPath(jobId) + (cancelRunning ? "?cancelRunning=true" : "");
    await this.#http.send({ method: "DELETE", path, idempotent: true, signal });
  }

  /** @param options.waitSec 0 to 60: the answer comes when the execution is final, or after that time */
  getExecution<R = unknown>(
    executionId: string,
    options: ReadOptions & { waitSec?: number } = {},
  ): Promise<Execution<R>> {
    const { waitSec = 0, signal } = options;
    const query = waitSec > 0 ? `?waitSec=${waitSec}` : "";
    return this.#get(executionPath(executionId) + query, { ...(signal && { signal }), waitMs: waitSec * 1_000 });
  }

  /** The execution once it is final, however long that takes; end it by the signal. */
  async waitForExecution<R = unknown>(executionId: string, options: ReadOptions = {}): Promise<Execution<R>> {
    for (;;) {
      const askedMs = this.#runtime.monotonicMs();
      const execution = await this.getExecution<R>(executionId, { ...options, waitSec: WAIT_MAX_SEC });
      if (FINAL_STATES.includes(execution.state)) return execution;
      // A server that is stopping, or something in between, may answer at once: it must not be asked in a tight loop.
      const earlyMs = ASK_EVERY_MS - (this.#runtime.monotonicMs() - askedMs);
      if (earlyMs > 0) await sleep(this.#runtime, earlyMs, options.signal);
      options.signal?.throwIfAborted();
    }
  }

  /** Newest first, page by page as they are asked for. */
  listExecutions(filter: ExecutionFilter = {}): AsyncGenerator<ExecutionSummary, void, undefined> {
    const { jobId, ...query } = filter;
    const path = jobId === undefined ? "/v1/executions" : `${jobPath(jobId)}/executions`;
    return this.#pages<ExecutionSummary>(path, query);
  }

  /**
   * @returns CANCELLED: it had not started, or was cancelled already. REQUESTED: its worker is told.
   * @throws {MainspringError} CONFLICT where it is final otherwise
   */
  async cancelExecution(executionId: string, options: ReadOptions = {}): Promise<"CANCELLED" | "REQUESTED"> {
    const path = `${executionPath(executionId)}/cancel`;
    const answer = await this.#http.send({ method: "POST", path, idempotent: true, signal: options.signal });
    return answer.status === 202 ? "REQUESTED" : "CANCELLED";
  }

  /** When a schedule would fire; the server keeps nothing of it. */
  async previewSchedule(schedule: SchedulePreviewRequest, { signal }: ReadOptions = {}): Promise<PreviewedFire[]> {
    const request = {
      method: "POST",
      path: "/v1/schedules/preview",
      body: schedule,
      idempotent: true,
      signal,
    } as const;
    return ((await this.#http.send(request)).body as { fires: PreviewedFire[] }).fires;
  }

  /**
   * Runs the job of a final execution once more, by the definition that it has now.
   * @returns the new execution's id
   * @throws {MainspringError} CONFLICT where an execution of the job is not final, or the job is deleted
   */
  async retryExecution(executionId: string, options: ReadOptions = {}): Promise<string> {
    const path = `${executionPath(executionId)}/retry`;
    const answer = await this.#http.send({ method: "POST", path, idempotent: false, signal: options.signal });
    return (answer.body as { executionId: string }).executionId;
  }

  /** Every reason why an execution waits, with its figures. */
  explain(executionId: string, options: ReadOptions = {}): Promise<Explanation> {
    return this.#get(`${executionPath(executionId)}/explain`, options);
  }

  /**
   * Events of an execution as they happen (state, progress and log lines), until the execution is final. A stream that
   * breaks goes on behind its last event.
   * @throws {MainspringError} UNAVAILABLE where no server has answered for `giveUpAfterSec` (default: 300)
   */
  follow(executionId: string, options: FollowOptions = {}): AsyncGenerator<ExecutionEvent, void, undefined> {
    return follow(this.#http, this.#runtime, `${executionPath(executionId)}/events`, options);
  }

  /** A worker with the executions that it has. @throws {MainspringError} NOT_FOUND where no server knows the worker */
  getWorker(workerId: string, options: ReadOptions = {}): Promise<WorkerDetail> {
    return this.#get(workerPath(workerId), options);
  }

  /** Has a worker take no more work, hand back what it has not started, and end when it is done. */
  drainWorker(workerId: string, options: ReadOptions = {}): Promise<WorkerInfo> {
    return this.#requests.send("POST", `${workerPath(workerId)}/drain`, undefined, true, options);
  }

  /** The server's version, its settings and its present load. */
  stats(options: ReadOptions = {}): Promise<Stats> {
    return this.#get("/v1/stats", options);
  }

  /** The workers that the server knows. */
  async workers(options: ReadOptions = {}): Promise<WorkerInfo[]> {
    return (await this.#get<{ items: WorkerInfo[] }>("/v1/workers", options)).items;
  }

  #post(path: string, body: unknown, { idempotencyKey, signal }: SubmitOptions): Promise<HttpAnswer> {
    const key = idempotencyKey ?? this.#runtime.uuid();
    return this.#http.send({ method: "POST", path, body, idempotent: false, idempotencyKey: key, signal });
  }

  /** Which time zone data recurring jobs are planned by. */
  timeZoneData(options: ReadOptions = {}): Promise<TimeZoneData> {
    return this.#get("/v1/time-zone-data", options);
  }

  /**
   * Has all servers plan by this version from some seconds on, at the same moment.
   * @throws {MainspringError} INVALID where the version is not available
   */
  useTimeZoneData(version: string, options: ReadOptions = {}): Promise<TimeZoneData> {
    return this.#requests.send("PUT", "/v1/time-zone-data", { version }, true, options);
  }

  #get<T>(path: string, options: ReadOptions & { waitMs?: number }): Promise<T> {
    return this.#requests.get(path, options);
  }

  #pages<T>(path: string, filter: object): AsyncGenerator<T, void, undefined> {
    return this.#requests.pages(path, filter);
  }
}

function jobPath(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}`;
}

function workerPath(workerId: string): string {
  return `/v1/workers/${encodeURIComponent(workerId)}`;
}

function executionPath(executionId: string): string {
  return `/v1/executions/${encodeURIComponent(executionId)}`;
}

function urlOf(text: string): string {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null;
  if (url !== null && url.username + url.password + url.search + url.hash === "") return url.href.replace(/\/+$/, "");
  const shown = text.includes("@") ? "what was given, which may hold a password," : `"${text}"`;
  throw new MainspringError("BAD_OPTION", `url: ${shown} is not a plain http(s) URL, as http://127.0.0.1:8080 is`);
}

function wholeOf(option: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new MainspringError("BAD_OPTION", `${option}: must be a whole number from 0 to ${max}, not ${value}`);
}
