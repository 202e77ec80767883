import type { FinalExecution } from "../evidence.ts";
import type { Rule } from "./rule.ts";

/** Attempts are numbered upwards, and the last is the one that the execution names. */
export const attemptsGrow: Rule = ({ evidence }) =>
  evidence.executions.flatMap(({ executionId, attempt, attempts }) => {
    const numbers = attempts.map((record) => record.attempt);
    const grows = numbers.every((number, index) => number > (numbers[index - 1] ?? 0));
    if (!grows) return [`the attempts of execution ${executionId} are numbered ${numbers.join(", ")}`];
    if ((numbers.at(-1) ?? 0) === attempt) return [];
    return [`execution ${executionId} is at attempt ${attempt}, the last that ended is ${numbers.at(-1) ?? "none"}`];
  });

/** Every handler that ran belongs to an attempt that the server accounts for, and ran for the job it was made for. */
export const runsAreAccountedFor: Rule = ({ runs, executions }) =>
  [...runs].flatMap(([executionId, list]) =>
    list.flatMap(({ attempt, pid, key, record }) => {
      const name = `attempt ${attempt} of execution ${executionId} ran in process ${pid}`;
      if (executions.get(executionId)?.key !== key) return [`${name} with the payload of ${key}`];
      if (record === null) return [`${name}, and its execution does not know of it`];
      if (record.state === "RELEASED") return [`${name}, and is said to have been handed back unstarted`];
      return [];
    }),
  );

/**
 * If no worker and no link was touched, each handler runs once and its result is the result, whatever happens to its
 * node.
 */
export const everythingRunsOnce: Rule = ({ runs }) =>
  [...runs].flatMap(([executionId, list]) => {
    const ends = list.map(({ record }) => record?.state ?? "unknown");
    return ends.length === 1 && ends[0] === "SUCCEEDED" ? [] : [`the runs of execution ${executionId} ended ${ends}`];
  });

/** A fencing token is assigned once. */
export const tokensAreUsedOnce: Rule = ({ runs }) =>
  [...runs].flatMap(([executionId, list]) => {
    const byAttempt = Map.groupBy(list, ({ attempt }) => attempt);
    return [...byAttempt].flatMap(([attempt, same]) => {
      const pids = same.map(({ pid }) => pid).join(", ");
      return same.length === 1
        ? []
        : [`attempt ${attempt} of execution ${executionId} ran twice: in processes ${pids}`];
    });
  });

/** An attempt that ended by its handler has a handler that ran. */
export const endsAreReal: Rule = ({ evidence, runs }) =>
  evidence.executions.flatMap((execution) =>
    execution.attempts.flatMap(({ attempt, state }) => {
      if (state !== "SUCCEEDED" && state !== "FAILED") return [];
      const run = runs.get(execution.executionId)?.find((candidate) => candidate.attempt === attempt);
      const returned = run !== undefined && run.resultSha !== null;
      if (run !== undefined && Number.isFinite(run.endedAt) && returned === (state === "SUCCEEDED")) return [];
      return [`attempt ${attempt} of execution ${execution.executionId} is ${state}, its handler ${told(run)}`];
    }),
  );

function told(run: { resultSha: string | null } | undefined): string {
  if (run === undefined) return "never ran";
  return run.resultSha === null ? "returned nothing" : "returned a value";
}

/**
 * At most one attempt is current: another starts only after the previous one ended or was declared ended. The previous
 * attempt's handler may even start later, because its assignment may have waited unread at a stopped worker.
 */
export const attemptsDoNotOverlap: Rule = ({ runs }) =>
  [...runs].flatMap(([executionId, list]) =>
    list.flatMap((run) => {
      const before = list.find(({ attempt, currentUntil }) => attempt < run.attempt && currentUntil > run.startedAt);
      if (before === undefined) return [];
      const forMs = Math.round(before.currentUntil - run.startedAt);
      const end = `for ${forMs} ms more, then ${before.record?.state ?? "unknown"}`;
      return [
        `attempt ${run.attempt} of execution ${executionId} began while attempt ${before.attempt} was current (${end})`,
      ];
    }),
  );

/** Failures never exceed maxAttempts, losses never maxLost, and both equal a count of the attempts. */
export const budgetsHold: Rule = ({ evidence, orders }) =>
  evidence.executions.flatMap((execution) => {
    const { executionId, key, failures, lost } = execution;
    const expected = orders.get(key ?? "")?.intended.expected;
    const findings: string[] = [];
    const [countedFailures, countedLost] = [count(execution, "FAILED", "TIMED_OUT"), count(execution, "WORKER_LOST")];
    if (failures !== countedFailures) findings.push(`says ${failures} failures and shows ${countedFailures}`);
    if (lost !== countedLost) findings.push(`says it lost its worker ${lost} times and shows ${countedLost}`);
    if (failures > (expected?.maxAttempts ?? failures)) findings.push(`failed ${failures} times, too often`);
    if (lost > (expected?.maxLost ?? lost)) findings.push(`lost its worker ${lost} times, too often`);
    return findings.map((what) => `execution ${executionId} ${what}`);
  });

function count({ attempts }: FinalExecution, ...states: string[]): number {
  return attempts.filter(({ state }) => states.includes(state)).length;
}
