import type { JobRequestState, JobRequestSummary } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

/** Requests for people, one a line. */
export function requestsText(requests: readonly JobRequestSummary[]): string {
  if (requests.length === 0) return "no requests";
  const rows = requests.map(({ requestId, state, createdAt, jobId, problem }) => [
    requestId,
    state,
    createdAt ?? "-",
    jobId ?? "-",
    problem?.detail ?? problem?.title ?? "-",
  ]);
  return table(["REQUEST", "STATE", "CREATED", "JOB", "PROBLEM"], rows);
}

/** A request for people. */
export function requestText(request: JobRequestState): string {
  const { problem, job } = request;
  return facts([
    ["request", request.requestId],
    ["state", request.state],
    ["source", request.source],
    ["created", request.createdAt],
    ["finished", request.finishedAt],
    ["job", request.jobId],
    ["execution", request.executionId],
    ["deduplicated", request.deduplicated ? "yes" : null],
    ["key", request.idempotencyKey],
    ["problem", problem && (problem.detail ?? problem.title)],
    ["submitted", job === null ? null : JSON.stringify(job)],
  ]);
}
