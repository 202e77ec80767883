import { digestOf } from "../../history/digest.ts";
import { orderOf } from "../case.ts";
import type { Rule } from "./rule.ts";

/** The result of an execution is the value that the handler of its last attempt returned. */
export const resultsAreCurrent: Rule = ({ evidence, runs, flowIds }) =>
  evidence.executions.flatMap(({ executionId, state, attempt, resultSha, attempts }) => {
    // A run of a workflow has no attempts and no result.
    if (state !== "SUCCEEDED" || flowIds.runs.has(executionId)) return [];
    const name = `execution ${executionId}`;
    const succeeded = attempts.filter((record) => record.state === "SUCCEEDED").map((record) => record.attempt);
    if (succeeded.length !== 1 || succeeded[0] !== attempt) {
      return [`${name} succeeded with attempt ${attempt}, but attempts [${succeeded}] are said to have succeeded`];
    }
    const own = runs.get(executionId)?.filter((run) => run.resultSha === resultSha) ?? [];
    if (own.length === 0) return [`${name} has a result that none of its attempts returned`];
    if (own.some((run) => run.attempt === attempt)) return [];
    return [`${name} has the stale result of attempt ${own[0]?.attempt}, its last attempt is ${attempt}`];
  });

/** Only a successful execution has a result. */
export const onlySuccessHasResult: Rule = ({ evidence }) =>
  evidence.executions
    .filter(({ state, resultSha }) => state !== "SUCCEEDED" && resultSha !== digestOf(null))
    .map(({ executionId, state }) => `execution ${executionId} is ${state} and has a result`);

export const payloadsAreIntact: Rule = (of) =>
  of.evidence.executions.flatMap((execution) => {
    const order = orderOf(of, execution);
    if (order === null || order.intended.expected.payloadSha === execution.payloadSha) return [];
    return [`execution ${execution.executionId} has another payload than it was submitted with`];
  });

/** A state that a client once read as final never changes. */
export const finalStatesAbsorb: Rule = ({ evidence, executions }) => {
  const changed = evidence.clients.flatMap((event) => {
    if (event.event !== "SEEN_FINAL") return [];
    const now = executions.get(event.executionId);
    if (now === undefined || (now.state === event.state && now.resultSha === event.resultSha)) return [];
    return [`execution ${event.executionId} was read as ${event.state} and is ${now.state}, or has another result`];
  });
  const moved = evidence.listedLater.flatMap(({ executionId, state, attempt, updatedAt }) => {
    const before = executions.get(executionId);
    if (before === undefined) return [`execution ${executionId} came out of nowhere after all was quiet`];
    if (before.state === state && before.attempt === attempt && before.updatedAt === updatedAt) return [];
    return [`execution ${executionId} was ${before.state} and changed after all was quiet: ${state}`];
  });
  const gone = evidence.executions.length - evidence.listedLater.length;
  return [...changed, ...moved, ...(gone > 0 ? [`${gone} executions were gone after all was quiet`] : [])];
};
