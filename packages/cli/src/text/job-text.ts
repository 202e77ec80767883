import type { ChangedJob, Job, JobSummary } from "@mainspring/sdk";
import { executionsText } from "./execution-text.ts";
import { facts, sentence, table } from "./output.ts";

/** Text of jobs for people, one per line. */
export function jobsText(jobs: readonly JobSummary[]): string {
  if (jobs.length === 0) return "no jobs";
  const rows = jobs.map((job) => [
    job.jobId,
    job.type,
    job.state,
    job.name ?? "-",
    job.target.pool,
    job.target.handler,
    job.nextFireAt ?? "-",
    labelsText(job.labels),
  ]);
  return table(["JOB", "TYPE", "STATE", "NAME", "POOL", "HANDLER", "NEXT", "LABELS"], rows);
}

/** Text of a job for people, with its latest executions. */
export function jobText(job: Job): string {
  const { target, retryPolicy } = job;
  const { maxAttempts, backoff, initialDelayMs, maxDelayMs } = retryPolicy;
  const definition = facts([
    ["job", job.jobId],
    ["name", job.name],
    ["state", `${job.state}, version ${job.version}`],
    ["type", typeText(job)],
    ...recurrenceFacts(job),
    ["handler", `${target.handler} in pool ${target.pool}`],
    ["requires", target.requires?.join(", ") || null],
    ["next", job.nextFireAt],
    ["priority", String(job.priority)],
    ["attempts", `${maxAttempts}, ${backoff} from ${initialDelayMs} ms to ${maxDelayMs} ms`],
    ["timeout", `${job.timeoutSec} s`],
    ["lifetime", lifetimeText(job)],
    ["on finish", job.onFinish?.url ?? null],
    ["labels", labelsText(job.labels) || null],
    ["payload", JSON.stringify(job.payload) ?? null],
    ["created", job.createdAt],
    ["updated", job.updatedAt],
  ]);
  return `${definition}\n\n${executionsText(job.latestExecutions)}`;
}

/** null: a server of an older release does not say. */
function lifetimeText({ maxLifetimeSec }: Partial<Job>): string | null {
  return maxLifetimeSec === undefined ? null : `${maxLifetimeSec} s`;
}

function typeText({ type, schedule, timezone, everySec, everyMode }: Job): string {
  if (schedule !== undefined) return `${type}: ${schedule} in ${timezone}`;
  return everySec === undefined ? type : `${type}: every ${everySec} s, ${everyMode}`;
}

function recurrenceFacts(job: Job): [string, string | null][] {
  const { overlap, misfire, fires, maxFires, startAt, endAt, catchUps = [] } = job;
  if (overlap === undefined) return [];
  const open = catchUps.map(
    ({ trigger, nextAt, until, running }) => `${trigger} from ${nextAt} to ${until}, ${running} open`,
  );
  return [
    ["overlap", overlap],
    ["misfire", misfire ?? null],
    ["fires", maxFires === undefined ? String(fires) : `${fires} of ${maxFires}`],
    ["from", startAt ?? null],
    ["until", endAt ?? null],
    ["catches up", open.join("; ") || null],
  ];
}

const FOLLOWS: Record<ChangedJob["execution"], string> = {
  REPLACED: "what is still to come runs by the new definition",
  KEPT: "its execution runs by what it started with, because a worker had it already",
  REQUESTED: "whether what waits follows is not known yet: see `jobs get`",
  UNCHANGED: "it had this definition already",
  CREATED: "the job is new",
};

/** Text of the outcome of a change of a job. */
export function changeText(changed: ChangedJob): string {
  const { jobId, version, execution } = changed;
  return sentence`job ${jobId} has version ${version}: ${FOLLOWS[execution]}` + warningsText(changed);
}

/** Lines with warnings about an accepted job; empty: no warning. */
export function warningsText({ warnings = [] }: Pick<ChangedJob, "warnings">): string {
  return warnings.map((warning) => sentence`\nwarning: ${warning}`).join("");
}

function labelsText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
