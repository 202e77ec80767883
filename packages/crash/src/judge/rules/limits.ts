import type { Expected } from "../../history/events.ts";
import { POOL_LIMIT } from "../../load/pool-limit.ts";
import { type Case, orderOf, type Run } from "../case.ts";
import type { FinalExecution } from "../evidence.ts";
import type { Rule } from "./rule.ts";

/** The number of current attempts of a concurrency key never exceeds its limit. */
export const concurrencyIsLimited: Rule = (of) => {
  const keyed = groupByExpected(of, ({ concurrency }) => concurrency?.key ?? null);
  return [...keyed].flatMap(([key, executions]) => {
    const limit = orderOf(of, executions[0] as FinalExecution)?.intended.expected.concurrency?.limit ?? 0;
    const most = mostAtOnce(executions.flatMap(({ executionId }) => of.currentRuns.get(executionId) ?? []));
    return most > limit ? [`${most} attempts of concurrency key ${key} ran at once, ${limit} may`] : [];
  });
};

/** The number of current executions of the pool never exceeds its limit. */
export const poolIsLimited: Rule = ({ currentRuns }) => {
  const most = mostAtOnce([...currentRuns.values()].flat());
  return most > POOL_LIMIT ? [`${most} attempts of the pool ran at once, ${POOL_LIMIT} may`] : [];
};

/**
 * At most one execution of a unique key is unfinished: its last attempt ends before the first attempt of the next
 * execution starts.
 */
export const uniqueKeysAreUnique: Rule = (of) => {
  const keyed = groupByExpected(of, ({ uniqueKey }) => uniqueKey);
  return [...keyed].flatMap(([key, executions]) => {
    const lives = executions.flatMap(({ executionId }) => lifeOf(executionId, of.currentRuns.get(executionId) ?? []));
    lives.sort((a, b) => a.from - b.from);
    return lives.flatMap(({ executionId, from }, index) => {
      const before = lives[index - 1];
      if (before === undefined || before.to <= from) return [];
      return [`executions ${before.executionId} and ${executionId} of unique key ${key} were alive at once`];
    });
  });
};

/** A deduplicated submit names an execution with the same unique key. */
export const duplicatesShareTheKey: Rule = (of) =>
  [...of.orders.values()].flatMap(({ intended, answers }) =>
    answers.flatMap(({ deduplicated, executionId }) => {
      const holder = of.executions.get(executionId);
      if (!deduplicated || holder === undefined) return [];
      const { uniqueKey } = intended.expected;
      if (uniqueKey !== null && orderOf(of, holder)?.intended.expected.uniqueKey === uniqueKey) return [];
      return [`job ${intended.key} was said to be execution ${executionId} already, which has another unique key`];
    }),
  );

function groupByExpected(of: Case, keyOf: (expected: Expected) => string | null): Map<string, FinalExecution[]> {
  const groups = new Map<string, FinalExecution[]>();
  for (const execution of of.evidence.executions) {
    const order = orderOf(of, execution);
    const key = order === null ? null : keyOf(order.intended.expected);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [execution]);
    else group.push(execution);
  }
  return groups;
}

function mostAtOnce(runs: readonly Run[]): number {
  const steps = runs.flatMap(({ startedAt, currentUntil }) => [
    { at: startedAt, by: 1 },
    { at: currentUntil, by: -1 },
  ]);
  // At the same instant, an end precedes a start.
  steps.sort((a, b) => a.at - b.at || a.by - b.by);
  let now = 0;
  return steps.reduce((most, { by }) => {
    now += by;
    return Math.max(most, now);
  }, 0);
}

function lifeOf(executionId: string, runs: readonly Run[]): { executionId: string; from: number; to: number }[] {
  const [first] = runs;
  if (first === undefined) return [];
  return [{ executionId, from: first.startedAt, to: Math.max(...runs.map(({ currentUntil }) => currentUntil)) }];
}
