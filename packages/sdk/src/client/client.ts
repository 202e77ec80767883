import { type Runtime, sleep } from "../runtime.ts";
import { systemRuntime } from "../system-runtime.ts";
import type { Task } from "../task.ts";
import { type AppliedSchedules, applySchedules, type ScheduleOptions } from "../task-schedules.ts";
import { apiKeySource } from "./api-key.ts";
import { ApiKeys, type Me } from "./api-keys.ts";
import {
  type BatchItem,
  type BatchRefusal,
  type ChangedJob,
  type Execution,
  type ExecutionFilter,
  type ExecutionRunFilter,
  type ExecutionSummary,
  FINAL_STATES,
  type Job,
  type JobFilter,
  type JobRequest,
  type JobSummary,
  type SubmittedJob,
  type SubmittedRecurringJob,
} from "./api-types.ts";
import { Audit } from "./audit.ts";
import { type ClientOptions, urlOf, wholeOf } from "./client-options.ts";
import { Cluster } from "./cluster.ts";
import { DeadLetters } from "./dead-letters.ts";
import { type ExecutionCount, ExecutionRuns } from "./execution-runs.ts";
import { EXECUTION_EVENTS, type ExecutionEvent, type FollowOptions, follow } from "./follow.ts";
import { Handlers } from "./handlers.ts";
import { Http } from "./http.ts";
import { Ingest } from "./ingest.ts";
import { jobPath } from "./job-reference.ts";
import { JobRequests } from "./job-requests.ts";
import { Jobs } from "./jobs.ts";
import type { EventFilter, LifecycleEvent } from "./lifecycle-event-types.ts";
import { lifecycleEvents } from "./lifecycle-events.ts";
import type { AttemptLogs, Explanation, Stats, TimeZoneData, WorkerDetail, WorkerInfo } from "./operator-types.ts";
import { Pools } from "./pools.ts";
import type {
  DescribedSchedule,
  PreviewedFire,
  RecurringJobRequest,
  ScheduleAnswer,
  SchedulePreviewRequest,
} from "./recurring-types.ts";
import { executionPath, queryOf, type ReadOptions, Requests, workerPath } from "./requests.ts";
import type { ExecutionSteps, SentSignal, SignalOptions } from "./step-types.ts";
import type { SubmitOptions } from "./submit-options.ts";
import { Submits } from "./submits.ts";
import { Tenants } from "./tenants.ts";
import { Webhooks } from "./webhooks.ts";
import { Workflows } from "./workflows.ts";

/** Longest time that the server holds back the answer to one request, in seconds. */
const WAIT_MAX_SEC = 60;
/** Shortest time between two requests of a wait for an execution, in milliseconds. */
const ASK_EVERY_MS = 1_000;

/** Client of a Mainspring server's HTTP API. Every method throws `MainspringError`. */
export class Client {
  readonly url: string;
  readonly #runtime: Runtime;
  /** Executions that failed too often: list, replay or discard them. */
  readonly deadLetters: DeadLetters;
  /** Cancellations and retries of all executions that match a filter: preview, start, list and stop them. */
  readonly executionRuns: ExecutionRuns;
  /** Pools: list, configure, pause and resume them. */
  readonly pools: Pools;
  /** Jobs by name, and recurring jobs: upsert, pause, trigger, backfill, ledger. */
  readonly jobs: Jobs;
  /** Handlers that workers offer, and policies that their tasks declare for jobs. */
  readonly handlers: Handlers;
  /** Nodes of the cluster: show their status, and drain them before a stop. */
  readonly cluster: Cluster;
  /** Workflows: submit, wait for, list and cancel their runs. */
  readonly workflows: Workflows;
  /** Webhooks: receivers of ends and events, and their deliveries: list, subscribe, enable, replay. */
  readonly webhooks: Webhooks;
  /** API keys: create, list, rotate and revoke them. */
  readonly keys: ApiKeys;
  /** Audit log: who changed what. */
  readonly audit: Audit;
  /** Tenants: create, change, suspend and delete them. */
  readonly tenants: Tenants;
  /** Requests for jobs by `submitIn`: whether they were taken in, and why one was refused. */
  readonly requests: JobRequests;
  /** The way of jobs through Kafka: how far it is, and how to take it again. */
  readonly ingest: Ingest;
  readonly #http: Http;
  readonly #requests: Requests;
  readonly #submits: Submits;

  constructor(options: ClientOptions = {}) {
    this.url = urlOf(options.url ?? process.env.MAINSPRING_URL ?? "http://127.0.0.1:8080");
    this.#runtime = options.runtime ?? systemRuntime(true);
    this.#http = new Http({
      ...{ url: this.url, tenant: options.tenant },
      apiKey: apiKeySource(options.apiKey),
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
    this.#submits = new Submits(this.#http, this.#runtime);
    this.deadLetters = new DeadLetters(this.#requests);
    this.executionRuns = new ExecutionRuns(this.#requests, this.#runtime);
    this.pools = new Pools(this.#requests);
    this.ingest = new Ingest(this.#requests);
    this.jobs = new Jobs(this.#requests);
    this.handlers = new Handlers(this.#requests);
    this.workflows = new Workflows(this.#http, this.#requests, this.#runtime);
    this.webhooks = new Webhooks(this.#requests);
    this.keys = new ApiKeys(this.#requests);
    this.audit = new Audit(this.#requests, this.#runtime);
    this.tenants = new Tenants(this.#requests);
    this.requests = new JobRequests(this.#requests, this.#runtime);
    this.cluster = new Cluster(this.#requests, this.#runtime);
  }

  /**
   * Submits one job. The client sends the submits of the same turn of the event loop as one request; each submit keeps
   * its own key, error and signal. For a recurring job prefer `jobs.upsert`, which a program may repeat.
   */
  async submit(job: RecurringJobRequest, options?: SubmitOptions): Promise<SubmittedRecurringJob>;
  async submit(job: JobRequest, options?: SubmitOptions): Promise<SubmittedJob>;
  async submit(
    job: JobRequest | RecurringJobRequest,
    options: SubmitOptions = {},
  ): Promise<SubmittedJob | SubmittedRecurringJob> {
    return await this.#submits.submit(job, options);
  }

  /**
   * Submits up to 10,000 jobs, 32 MiB together. The answer has an item for each job, in the order of the jobs; a wrong
   * job does not stop the others.
   */
  async submitBatch(
    jobs: readonly RecurringJobRequest[],
    options?: SubmitOptions,
  ): Promise<(SubmittedRecurringJob | BatchRefusal)[]>;
  async submitBatch(jobs: readonly JobRequest[], options?: SubmitOptions): Promise<BatchItem[]>;
  async submitBatch(
    jobs: readonly (JobRequest | RecurringJobRequest)[],
    options: SubmitOptions = {},
  ): Promise<(BatchItem | SubmittedRecurringJob)[]> {
    return await this.#submits.batch<BatchItem>(jobs, options);
  }

  /** @param job an id, or the name of a job that is not deleted */
  async getJob(job: string, options: ReadOptions = {}): Promise<Job> {
    return this.#get<Job>(await jobPath(this.#requests, job, options), options);
  }

  /**
   * Makes the recurring jobs that tasks declare (`schedule`) what they are to be: a program does so at each of its starts, and a
   * repeat changes nothing. With `prune`, recurring jobs of the application that no task declares any more are deleted.
   * @throws {MainspringError} what the server refuses; recurring jobs before that one are applied, and none is deleted
   */
  applySchedules(tasks: readonly Task<never, unknown>[], options: ScheduleOptions): Promise<AppliedSchedules> {
    return applySchedules(
      this,
      tasks.flatMap((task) => task.declaredSchedule ?? []),
      options,
    );
  }

  /** Lists jobs, the newest first. The client fetches each page when the caller gets to it. */
  listJobs(filter: JobFilter = {}): AsyncGenerator<JobSummary, void, undefined> {
    return this.#pages<JobSummary>("/v1/jobs", { ...filter });
  }

  /**
   * Replaces the definition of a job. Executions that wait run by the new definition. An execution that a worker has
   * keeps the old definition; the answer's `execution` says which case applies.
   * @param jobId id, or name of a job that is not deleted
   * @param options.ifVersion version that the job must have for the change to happen
   * @throws {MainspringError} PRECONDITION_FAILED if the job has another version; CONFLICT if the job is not ACTIVE
   */
  async replaceJob(
    jobId: string,
    job: JobRequest | RecurringJobRequest,
    options: ReadOptions & { ifVersion?: number } = {},
  ): Promise<ChangedJob> {
    const { ifVersion, signal } = options;
    const path = await jobPath(this.#requests, jobId, signal && { signal });
    const headers = ifVersion === undefined ? {} : { "if-match": `"${ifVersion}"` };
    // With `ifVersion` the server would refuse the repeat of a change that has already happened.
    return this.#requests.send("PUT", path, job, ifVersion === undefined, { headers, ...(signal && { signal }) });
  }

  /** The same as `jobs.upsert`. */
  putJobByName(name: string, job: JobRequest | RecurringJobRequest, options: ReadOptions = {}): Promise<ChangedJob> {
    return this.jobs.upsert(name, job, options);
  }

  /**
   * Deletes a job and cancels its waiting executions. Executions at a worker go on, unless `cancelRunning` is set. The
   * job's history stays.
   * @param job id, or name of a job that is not deleted
   */
  async deleteJob(job: string, options: ReadOptions & { cancelRunning?: boolean } = {}): Promise<void> {
    const { cancelRunning = false, signal } = options;
    const path = await jobPath(this.#requests, job, signal && { signal });
    const query = cancelRunning ? "?cancelRunning=true" : "";
    await this.#http.send({ method: "DELETE", path: path + query, idempotent: true, signal });
  }

  /**
   * Reads an execution.
   * @param options.waitSec 0 to 60: the server answers when the execution is final, or after this many seconds
   */
  getExecution<R = unknown>(id: string, options: ReadOptions & { waitSec?: number } = {}): Promise<Execution<R>> {
    const { waitSec = 0, signal } = options;
    const query = waitSec > 0 ? `?waitSec=${waitSec}` : "";
    return this.#get(executionPath(id) + query, { ...(signal && { signal }), waitMs: waitSec * 1_000 });
  }

  /** Waits until the execution is final, without a time limit, and returns it. The signal ends the wait. */
  async waitForExecution<R = unknown>(executionId: string, options: ReadOptions = {}): Promise<Execution<R>> {
    for (;;) {
      const askedMs = this.#runtime.monotonicMs();
      const execution = await this.getExecution<R>(executionId, { ...options, waitSec: WAIT_MAX_SEC });
      if (FINAL_STATES.includes(execution.state)) return execution;
      // A server that is stopping, or a proxy, may answer at once; this wait keeps the client from a tight loop.
      const earlyMs = ASK_EVERY_MS - (this.#runtime.monotonicMs() - askedMs);
      if (earlyMs > 0) await sleep(this.#runtime, earlyMs, options.signal);
      options.signal?.throwIfAborted();
    }
  }

  /** Lists executions, the newest first. The client fetches each page when the caller gets to it. */
  async *listExecutions(filter: ExecutionFilter = {}): AsyncGenerator<ExecutionSummary, void, undefined> {
    const { jobId, ...query } = filter;
    const path = jobId === undefined ? "/v1/executions" : `${await jobPath(this.#requests, jobId)}/executions`;
    yield* this.#pages<ExecutionSummary>(path, query);
  }

  /**
   * Counts the executions that `listExecutions` would list, up to 10,000. The count reads rows, which are about a second
   * behind the executions, and in which SCHEDULED is still PENDING.
   * @param filter.jobId id of the job; no name
   */
  countExecutions(filter: ExecutionRunFilter = {}, options: ReadOptions = {}): Promise<ExecutionCount> {
    return this.#get(`/v1/execution-count${queryOf(filter)}`, options);
  }

  /**
   * Cancels an execution.
   * @returns CANCELLED: the execution had not started, or was cancelled already. REQUESTED: its worker is told to stop. NOT_DURABLE: the
   * server has a Redis and its store does not answer: a worker that runs the execution is told to stop, and the request is written when the
   * store is back, unless Redis loses its data before.
   * @throws {MainspringError} CONFLICT if the execution is final in another state
   */
  async cancelExecution(
    executionId: string,
    options: ReadOptions = {},
  ): Promise<"CANCELLED" | "REQUESTED" | "NOT_DURABLE"> {
    const path = `${executionPath(executionId)}/cancel`;
    const answer = await this.#http.send({ method: "POST", path, idempotent: true, signal: options.signal });
    if (answer.status !== 202) return "CANCELLED";
    return (answer.body as { durable?: boolean } | null)?.durable === false ? "NOT_DURABLE" : "REQUESTED";
  }

  /** Computes when a schedule would fire. The server stores nothing. */
  async previewSchedule(schedule: SchedulePreviewRequest, options: ReadOptions = {}): Promise<PreviewedFire[]> {
    return (await this.describeSchedule(schedule, options)).fires;
  }

  /** Says in words what a schedule means, and computes when it would fire. The server stores nothing. */
  async describeSchedule(schedule: SchedulePreviewRequest, options: ReadOptions = {}): Promise<DescribedSchedule> {
    const answer = await this.#requests.send<ScheduleAnswer>("POST", "/v1/schedules/preview", schedule, true, options);
    return { words: answer.words ?? null, fires: answer.fires };
  }

  /**
   * Runs the job of a final execution once more, by the job's present definition.
   * @param options.keepSteps whether the new execution gets the steps, the checkpoint and the unconsumed signals of the final one, so
   * that its handler goes on where that one stopped; default false: the handler runs every step
   * @returns id of the new execution
   * @throws {MainspringError} CONFLICT if an execution of the job is not final, or the job is deleted
   */
  async retryExecution(executionId: string, options: ReadOptions & { keepSteps?: boolean } = {}): Promise<string> {
    const { keepSteps = false, ...rest } = options;
    const path = `${executionPath(executionId)}/retry`;
    // A server of the release before takes no body.
    const body = keepSteps ? { keepSteps } : {};
    return (await this.#requests.send<{ executionId: string }>("POST", path, body, false, rest)).executionId;
  }

  /**
   * Sends a signal to an execution that is not final. The step of its handler that waits for the name, now or later
   * (`ctx.step.waitForSignal`), consumes the signal. The client retries, and the signal is accepted once.
   * @param name 1 to 128 characters
   * @param data JSON of at most 64 KiB; left out: none
   * @throws {MainspringError} NOT_FOUND: there is no such execution. CONFLICT: the execution is final, 1,000 of its signals
   * wait for a step, or the id belongs to a signal with another name or other data
   */
  signalExecution(executionId: string, name: string, data?: unknown, options: SignalOptions = {}): Promise<SentSignal> {
    const { id = this.#runtime.uuid(), ...rest } = options;
    const body = data === undefined ? { name, id } : { name, id, data };
    return this.#requests.send("POST", `${executionPath(executionId)}/signals`, body, true, rest);
  }

  /** Reads the durable steps of an execution with their values, and the signals that no step has consumed. */
  getExecutionSteps(executionId: string, options: ReadOptions = {}): Promise<ExecutionSteps> {
    return this.#get(`${executionPath(executionId)}/steps`, options);
  }

  /** Lists every reason why an execution waits, with the figures of each. */
  explain(executionId: string, options: ReadOptions = {}): Promise<Explanation> {
    return this.#get(`${executionPath(executionId)}/explain`, options);
  }

  /**
   * Reads the last lines that the handler of an execution logged in an attempt, which may still run.
   * @param options `attempt`: number of the attempt, from 1; default: the newest one
   * @throws {MainspringError} NOT_FOUND if there is no such execution, or it has had no such attempt
   */
  getLogs(executionId: string, { attempt, ...options }: ReadOptions & { attempt?: number } = {}): Promise<AttemptLogs> {
    const of = attempt === undefined ? "" : `/attempts/${attempt}`;
    return this.#get(`${executionPath(executionId)}${of}/logs`, options);
  }

  /**
   * Streams the events of an execution (state, progress and log lines) until the execution is final. When the stream
   * breaks, the client opens a new one that continues after the last event.
   * @throws {MainspringError} UNAVAILABLE if no server has answered for `giveUpAfterSec` (default: 300)
   */
  follow(executionId: string, options: FollowOptions = {}): AsyncGenerator<ExecutionEvent, void, undefined> {
    return follow(this.#http, this.#runtime, `${executionPath(executionId)}/events`, options, EXECUTION_EVENTS);
  }

  /**
   * Streams the events of executions and jobs of the whole installation, at least once, from now on or from behind
   * `after`. When the stream breaks, the client opens a new one that goes on behind the last event.
   * @throws {EventsGone} the server no longer keeps events behind the position
   * @throws {EventsOff} the servers keep no events
   * @throws {MainspringError} UNAVAILABLE if no server has answered for `giveUpAfterSec` (default: 300)
   */
  events(filter: EventFilter = {}): AsyncGenerator<LifecycleEvent, void, undefined> {
    return lifecycleEvents(this.#http, this.#runtime, filter);
  }

  /**
   * Reads a worker with the executions that it has. @throws {MainspringError} NOT_FOUND if no server knows the worker
   */
  getWorker(workerId: string, options: ReadOptions = {}): Promise<WorkerDetail> {
    return this.#get(workerPath(workerId), options);
  }

  /**
   * Drains a worker: the worker takes no more work, hands back what it has not started, and ends when the rest is
   * finished.
   */
  drainWorker(workerId: string, options: ReadOptions = {}): Promise<WorkerInfo> {
    return this.#requests.send("POST", `${workerPath(workerId)}/drain`, undefined, true, options);
  }

  /** Reads the version, settings and present load of the server. */
  stats(options: ReadOptions = {}): Promise<Stats> {
    return this.#get("/v1/stats", options);
  }

  /** Shows whose key the client sends, and what it may do. */
  me(options: ReadOptions = {}): Promise<Me> {
    return this.#get("/v1/me", options);
  }

  /** Lists the workers that the server knows. */
  async workers(options: ReadOptions = {}): Promise<WorkerInfo[]> {
    return (await this.#get<{ items: WorkerInfo[] }>("/v1/workers", options)).items;
  }

  /** Reads the version of the time zone data by which the servers plan recurring jobs. */
  timeZoneData(options: ReadOptions = {}): Promise<TimeZoneData> {
    return this.#get("/v1/time-zone-data", options);
  }

  /**
   * Switches all servers to this version of the time zone data, at the same moment a few seconds from now.
   * @throws {MainspringError} BAD_REQUEST if the version is not available
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
