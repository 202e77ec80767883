import type { ChangedJob, JobRequest, JobSummary } from "./client/api-types.ts";
import type { Client } from "./client/client.ts";
import type {
  CronSchedule,
  IntervalSchedule,
  RecurrenceOptions,
  RecurringJobRequest,
} from "./client/recurring-types.ts";
import type { ReadOptions } from "./client/requests.ts";
import { MainspringError } from "./errors.ts";

/** Times of a recurring job. */
export type ScheduleTimes = (CronSchedule | IntervalSchedule) & RecurrenceOptions;

/** Schedule that a task declares: a cron expression in UTC, or times with a name and a payload. */
export type TaskSchedule<P> =
  | string
  | (ScheduleTimes & {
      /** Name of the recurring job; default: that of the task. */
      name?: string;
      /** Payload of its executions; default: none. */
      payload?: P;
    });

/** A declared schedule as a request. */
export interface DeclaredSchedule {
  name: string;
  /** @throws {MainspringError} INVALID_PAYLOAD */
  request(): Promise<RecurringJobRequest>;
}

export interface ScheduleOptions extends ReadOptions {
  /** Name of the program that declares the schedules, 1 to 255 characters; its recurring jobs have it as a label. */
  application: string;
  /** Whether recurring jobs of the application that no task declares are deleted; default false. */
  prune?: boolean;
}

export interface AppliedSchedules {
  /** The recurring jobs, in the order of the tasks. */
  applied: ChangedJob[];
  /** Recurring jobs that were deleted. */
  pruned: JobSummary[];
}

/** Label of recurring jobs whose schedule a program declares. */
export const APPLICATION_LABEL = "mainspring/application";

/** @throws {MainspringError} BAD_OPTION: it is no schedule */
export function checkSchedule(task: string, schedule: unknown): void {
  const isText = typeof schedule === "string" && schedule !== "";
  const { schedule: cron, everySec } = (
    typeof schedule === "object" && schedule !== null ? schedule : {}
  ) as Partial<ScheduleTimes>;
  if (isText || (cron !== undefined) !== (everySec !== undefined)) return;
  const right = 'a cron expression, as "0 3 * * *", or an object with either schedule or everySec';
  throw new MainspringError("BAD_OPTION", `task ${JSON.stringify(task)}: schedule: must be ${right}`);
}

/** @param job makes the request of a job of the task */
export function declaredSchedule<P>(
  task: string,
  schedule: TaskSchedule<P>,
  job: (payload: P) => Promise<JobRequest>,
): DeclaredSchedule {
  const { name = task, payload, ...times } = typeof schedule === "string" ? { schedule } : schedule;
  return { name, request: async () => ({ ...(await job(payload as P)), ...(times as ScheduleTimes) }) };
}

/** See Client.applySchedules. */
export async function applySchedules(
  client: Client,
  schedules: readonly DeclaredSchedule[],
  { application, prune = false, ...options }: ScheduleOptions,
): Promise<AppliedSchedules> {
  const names = new Set(schedules.map(({ name }) => name));
  if (application === "") throw new MainspringError("BAD_OPTION", "application: must not be empty");
  if (names.size < schedules.length) throw twice(schedules);
  const applied: ChangedJob[] = [];
  for (const { name, request } of schedules) {
    const job = await request();
    const labels = { ...job.labels, [APPLICATION_LABEL]: application };
    applied.push(await client.jobs.upsert(name, { ...job, labels }, options));
  }
  return { applied, pruned: prune ? await pruned(client, application, names, options) : [] };
}

async function pruned(
  client: Client,
  application: string,
  names: ReadonlySet<string>,
  options: ReadOptions,
): Promise<JobSummary[]> {
  const gone: JobSummary[] = [];
  for await (const job of client.listJobs({ label: `${APPLICATION_LABEL}=${application}` })) {
    const isDeclared = job.name !== null && names.has(job.name);
    if (job.type !== "ONCE" && job.state !== "DELETED" && !isDeclared) gone.push(job);
  }
  for (const { jobId } of gone) await client.deleteJob(jobId, options);
  return gone;
}

function twice(schedules: readonly DeclaredSchedule[]): MainspringError {
  const repeated = schedules.find(({ name }, index) => schedules.findIndex((other) => other.name === name) < index);
  const message = `schedule: two tasks declare a recurring job named ${JSON.stringify(repeated?.name)}: give one of them another name`;
  return new MainspringError("BAD_OPTION", message);
}
