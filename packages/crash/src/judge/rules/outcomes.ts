import { type Case, orderOf } from "../case.ts";
import type { FinalExecution } from "../evidence.ts";
import type { Rule } from "./rule.ts";

/** Each job has its expected outcome. */
export const outcomesAreAsExpected: Rule = (of) => {
  const asked = cancellationsOf(of);
  return of.evidence.executions.flatMap((execution) => {
    const expected = orderOf(of, execution)?.intended.expected;
    if (expected === undefined) return [];
    const { state, failures, lost } = execution;
    const name = `execution ${execution.executionId} (${execution.handler}) is ${state} after ${failures} failures and ${lost} losses`;
    if (state === "CANCELLED" && asked.has(execution.executionId)) return [];
    if (state === "DEAD" && lost >= expected.maxLost) return [];
    if (state === "SKIPPED" && expected.expiresMs !== null) return [];
    if (state !== expected.state) return [`${name}, ${expected.state} was to be expected`];
    const { least, most } = expected.failures;
    return failures >= least && failures <= most ? [] : [`${name}, ${least} to ${most} were to be expected`];
  });
};

/** A skipped execution never ran, and its time was over. */
export const onlyTheExpiredIsSkipped: Rule = (of) =>
  of.evidence.executions.flatMap((execution) => {
    const { executionId, state, attempts, finishedAt } = execution;
    const order = orderOf(of, execution);
    if (state !== "SKIPPED" || order === null) return [];
    // The server may never have heard that a lost worker had started the attempt.
    const heard = of.runs.get(executionId)?.some(({ record }) => record?.state !== "WORKER_LOST") ?? false;
    const began = heard || attempts.some(({ startedAt }) => startedAt !== null);
    if (began) return [`execution ${executionId} is SKIPPED, and ran`];
    const { wallClockZeroMs, toleranceMs } = of.evidence;
    const endedAt = Date.parse(finishedAt ?? "") + wallClockZeroMs;
    const expiredAt = order.intended.at + (order.intended.expected.expiresMs ?? 0);
    return endedAt + toleranceMs >= expiredAt ? [] : [`execution ${executionId} was SKIPPED before its time was over`];
  });

/** A cancellation has the outcome that the server announced. */
export const cancellationsHold: Rule = (of) =>
  of.evidence.clients.flatMap((event) => {
    if (event.event !== "CANCEL_ANSWERED" || event.answer === "FINAL") return [];
    const execution = of.executions.get(event.executionId);
    if (execution === undefined) return [];
    const late = startsAfter(of, execution, event.at);
    const name = `the cancellation of execution ${event.executionId} was answered with ${event.answer}`;
    const allowed = event.answer === "CANCELLED" ? ["CANCELLED"] : ["CANCELLED", "SUCCEEDED"];
    if (!allowed.includes(execution.state)) return [`${name}, and it is ${execution.state}`];
    // An attempt that was on its way when its worker was told may still start, only to be stopped.
    const most = event.answer === "CANCELLED" ? 0 : 1;
    return late > most ? [`${name}, and ${late} attempts began after that`] : [];
  });

/** No handler starts before its job is due. */
export const nothingIsEarly: Rule = (of) =>
  of.evidence.executions.flatMap((execution) => {
    const order = orderOf(of, execution);
    const [first] = of.runs.get(execution.executionId) ?? [];
    if (order === null || first === undefined) return [];
    const { at, expected } = order.intended;
    const earlyMs = at + expected.delayMs - first.startedAt;
    if (earlyMs <= of.evidence.toleranceMs) return [];
    return [`execution ${execution.executionId} began ${Math.round(earlyMs)} ms too early`];
  });

function cancellationsOf({ evidence }: Case): ReadonlySet<string> {
  return new Set(evidence.clients.flatMap((event) => (event.event === "CANCEL_ASKED" ? [event.executionId] : [])));
}

function startsAfter({ currentRuns }: Case, { executionId }: FinalExecution, at: number): number {
  return currentRuns.get(executionId)?.filter(({ startedAt }) => startedAt > at).length ?? 0;
}
