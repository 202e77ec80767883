import { MainspringError } from "../errors.ts";
import type { JobSummary } from "./api-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The newest job of this name that is not deleted; null: there is none. */
export async function findJob(requests: Requests, name: string, options: ReadOptions = {}): Promise<JobSummary | null> {
  for await (const job of requests.pages<JobSummary>("/v1/jobs", { name }, options)) {
    if (job.state !== "DELETED") return job;
  }
  return null;
}

/**
 * Path of a job at the API.
 * @param job an id, or a name: of the recurring job that has it, else of the one job that has it and is not deleted
 * @throws {MainspringError} NOT_FOUND: no job has the name; CONFLICT: several jobs that run once have it
 */
export async function jobPath(requests: Requests, job: string, options: ReadOptions = {}): Promise<string> {
  if (UUID.test(job)) return `/v1/jobs/${job}`;
  const found: JobSummary[] = [];
  for await (const one of requests.pages<JobSummary>("/v1/jobs", { name: job }, options)) {
    if (one.state !== "DELETED") found.push(one);
    if (found.length === 2 || (found[0] !== undefined && found[0].type !== "ONCE")) break;
  }
  const [first, second] = found;
  const name = JSON.stringify(job);
  if (first === undefined)
    throw new MainspringError(
      "NOT_FOUND",
      `no job is named ${name}, and it is no id of a job: client.listJobs() lists them`,
    );
  if (second !== undefined)
    throw new MainspringError(
      "CONFLICT",
      `several jobs are named ${name}, as ${first.jobId} and ${second.jobId}: say which by its id`,
    );
  return `/v1/jobs/${first.jobId}`;
}
