import type { Case, Written } from "../case.ts";
import type { FinalRequest } from "../evidence.ts";
import type { Rule } from "./rule.ts";

/** A committed request is decided once, as its job deserves. If nobody knows its commit, this counts if the request is there. */
export const requestsAreDecided: Rule = (of) =>
  [...of.requests.values()].flatMap(({ written, committedAt, rolledBack, shown }) => {
    const name = `request ${written.requestId} of job ${written.key}`;
    if (rolledBack !== null) return [];
    if (shown === null) return committedAt === null ? [] : [`${name} was committed, and is not there`];
    const wanted = written.isWrong ? "REFUSED" : "TAKEN_IN";
    if (shown.state !== wanted) return [`${name} is ${shown.state} (${shown.problem?.detail}) and must be ${wanted}`];
    return wanted === "REFUSED" ? refusedWell(shown, name) : takenInWell(of, shown, written.key, name);
  });

/** A request whose transaction was rolled back leaves nothing, and the store has no requests that no application wrote. */
export const rolledBackRequestsAreGone: Rule = (of) => {
  const { requests, evidence } = of;
  const listed = (evidence.requests ?? []).flatMap(({ requestId, state }) => {
    const known = requests.get(requestId);
    if (known === undefined) return [`nobody wrote request ${requestId}, which is ${state}`];
    return known.rolledBack === null ? [] : [`request ${requestId} was rolled back, and is ${state}`];
  });
  const withoutRequest = jobsOfRequests(of).flatMap(({ key, all }) => {
    const made = evidence.executions.filter((execution) => execution.key === key);
    const taken = new Set(all.map(({ shown }) => shown?.executionId));
    return made
      .filter(({ executionId }) => !taken.has(executionId))
      .map(({ executionId }) => `job ${key} has no request that was taken in, and is execution ${executionId}`);
  });
  return [...listed, ...withoutRequest];
};

/** All requests with the idempotency key of a job lead to one execution. */
export const requestsMakeOneJob: Rule = (of) =>
  jobsOfRequests(of).flatMap(({ key, all }) => {
    const ids = new Set(all.flatMap(({ shown }) => (shown?.state === "TAKEN_IN" ? [shown.executionId] : [])));
    return ids.size <= 1 ? [] : [`the requests of job ${key} were taken in as ${[...ids].join(", ")}`];
  });

/**
 * Transactions with requests met the faults: rolled back, refused, and committed while a server was dead. Few are cut off by a kill of
 * the store, and in some runs none, so no run must show that.
 */
export const requestsMetFaults: Rule = (of) => {
  if (of.evidence.requests === null) return [];
  const { requestsCutOff: _, ...figures } = requestFigures(of);
  return Object.entries(figures).flatMap(([name, count]) => (count > 0 ? [] : [`the run shows no ${name}`]));
};

/** Counts of requests that applications wrote. */
export function requestFigures(of: Case): Record<string, number> {
  if (of.evidence.requests === null) return {};
  const all = [...of.requests.values()];
  return {
    requestsTakenIn: all.filter(({ shown }) => shown?.state === "TAKEN_IN").length,
    requestsRefused: all.filter(({ shown }) => shown?.state === "REFUSED").length,
    requestsRolledBack: all.filter(({ rolledBack }) => rolledBack?.isCutOff === false).length,
    requestsCutOff: all.filter(({ rolledBack }) => rolledBack?.isCutOff === true).length,
    requestsOfDeadServers: all.filter((request) => isOfDeadServer(of, request)).length,
  };
}

/** Whether the request was committed while a server was dead, and taken in. */
function isOfDeadServer({ evidence }: Case, { committedAt, shown }: Written): boolean {
  if (committedAt === null || shown?.state !== "TAKEN_IN") return false;
  const before = evidence.faults.filter(({ event, at }) => /^SERVER_(KILLED|READY)$/.test(event) && at < committedAt);
  return before.at(-1)?.event === "SERVER_KILLED";
}

export function refusedWell({ problem, jobId, executionId }: FinalRequest, name: string): string[] {
  if (jobId !== null || executionId !== null) return [`${name} was refused, and has a job`];
  return problem === null ? [`${name} was refused without a reason`] : [];
}

export function takenInWell(
  of: Case,
  { executionId, deduplicated }: FinalRequest,
  key: string,
  name: string,
): string[] {
  const execution = of.executions.get(executionId ?? "");
  if (execution === undefined) return [`${name} was taken in as execution ${executionId}, which does not exist`];
  if (deduplicated || execution.key === key) return [];
  return [`${name} was taken in as execution ${executionId}, which is of job ${execution.key}`];
}

function jobsOfRequests({ requests }: Case): { key: string; all: Written[] }[] {
  const byKey = Map.groupBy(requests.values(), ({ written }) => written.key);
  return [...byKey].map(([key, all]) => ({ key, all }));
}
