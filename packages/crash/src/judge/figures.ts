import { FAULTS } from "../history/events.ts";
import type { Case, Run } from "./case.ts";
import { lostAlive, outlivers, zombies } from "./rules/faults.ts";

/** What was counted: a run in which little happened shows little. */
export function figuresOf(of: Case): Record<string, number> {
  const { evidence, orders, runs } = of;
  const all = [...runs.values()].flat();
  const faults = FAULTS.map((fault) => [fault, evidence.faults.filter(({ event }) => event === fault).length]);
  const states = Map.groupBy(evidence.executions, ({ state }) => state);
  return {
    intended: orders.size,
    accepted: [...orders.values()].filter(({ answers }) => answers.length > 0).length,
    answers: sum([...orders.values()].map(({ answers }) => answers.length)),
    executions: evidence.executions.length,
    ...Object.fromEntries([...states].map(([state, list]) => [state, list.length])),
    started: all.length,
    finished: all.filter(({ endedAt }) => Number.isFinite(endedAt)).length,
    refused: all.filter(isRefused).length,
    zombies: zombies(of).length,
    outlivedTheServer: outlivers(of).length,
    lost: attemptsOf(of, "WORKER_LOST"),
    timedOut: attemptsOf(of, "TIMED_OUT"),
    released: attemptsOf(of, "RELEASED"),
    lostByLivingWorkers: lostAlive(of).length,
    ...Object.fromEntries(faults),
  };
}

/** It returned a value which was not taken. */
function isRefused({ resultSha, record }: Run): boolean {
  return resultSha !== null && record?.state !== "SUCCEEDED";
}

function attemptsOf({ evidence }: Case, state: string): number {
  return sum(evidence.executions.map(({ attempts }) => attempts.filter((record) => record.state === state).length));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
