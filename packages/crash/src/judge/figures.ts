import type { Case, Run } from "./case.ts";
import { lostAlive, outlivers, zombies } from "./rules/faults.ts";
import { recordFigures } from "./rules/records.ts";
import { referenceFigures } from "./rules/references.ts";
import { requestFigures } from "./rules/requests.ts";
import { signalFigures } from "./rules/signals.ts";
import { repeatedEffects, survivors } from "./rules/steps.ts";
import { workflowFigures } from "./rules/workflows.ts";

/** Counts of a run, because a run in which little happened proves little. */
export function figuresOf(of: Case): Record<string, number> {
  const { evidence, orders, runs } = of;
  const all = [...runs.values()].flat();
  const faults = Object.keys(evidence.demanded).map((fault) => [fault, happened(of, fault)]);
  const states = Map.groupBy(evidence.executions, ({ state }) => state);
  return {
    intended: orders.size,
    accepted: [...orders.values()].filter(({ answers }) => answers.length > 0).length,
    answers: sum([...orders.values()].map(({ answers }) => answers.length)),
    executions: evidence.executions.length,
    ...Object.fromEntries([...states].map(([state, list]) => [state, list.length])),
    ran: runs.size,
    doubledWithinTheRules: doubled(of),
    ranMoreThanOnce: [...runs.values()].filter((list) => list.filter(isNotSuspended).length > 1).length,
    started: all.length,
    finished: all.filter(({ endedAt }) => Number.isFinite(endedAt)).length,
    refused: all.filter(isRefused).length,
    zombies: zombies(of).length,
    outlivedTheServer: outlivers(of).length,
    lost: attemptsOf(of, "WORKER_LOST"),
    timedOut: attemptsOf(of, "TIMED_OUT"),
    released: attemptsOf(of, "RELEASED"),
    lostByLivingWorkers: lostAlive(of).length,
    missing: missing(of),
    ...firesOf(of),
    ...stepsOf(of),
    ...requestFigures(of),
    ...recordFigures(of),
    ...workflowFigures(of),
    ...referenceFigures(of),
    ...longestGap(all),
    ...Object.fromEntries(faults),
  };
}

function happened({ evidence }: Case, fault: string): number {
  return evidence.faults.filter(({ event }) => event === fault).length;
}

/**
 * Number of executions whose handler started a second time without a failure, because their worker was lost or declared
 * lost.
 */
function doubled({ runs }: Case): number {
  return [...runs.values()].filter((list) => list.slice(0, -1).some(({ record }) => record?.state === "WORKER_LOST"))
    .length;
}

/** Number of accepted executions that are missing, or not final. */
function missing({ orders, executions }: Case): number {
  const accepted = new Set(
    [...orders.values()].flatMap(({ answers }) => answers.map(({ executionId }) => executionId)),
  );
  return [...accepted].filter((id) => executions.get(id)?.finishedAt == null).length;
}

/** Counts from the ledgers of recurring jobs. */
function firesOf({ evidence }: Case): Record<string, number> {
  const items = evidence.recurring.flatMap(({ ledger }) => ledger);
  const skipped = items.filter(({ outcome }) => outcome === "SKIPPED").map(({ count = 1 }) => count);
  return { fired: items.filter(({ outcome }) => outcome === "RAN").length, instantsSkipped: sum(skipped) };
}

/** Counts of executions with durable steps. */
function stepsOf(of: Case): Record<string, number> {
  return {
    stepped: of.steps.size,
    suspended: attemptsOf(of, "SUSPENDED"),
    steppedAndLost: survivors(of).length,
    effectsRepeated: repeatedEffects(of),
    ...signalFigures(of),
  };
}

function isNotSuspended({ record }: Run): boolean {
  return record?.state !== "SUSPENDED";
}

/** Longest time in which no handler started anywhere, and its position, counted from the first start. */
function longestGap(runs: readonly Run[]): { longestGapMs: number; longestGapAtSec: number } {
  const starts = runs.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
  let [longestGapMs, longestGapAtSec] = [0, 0];
  for (const [index, at] of starts.entries()) {
    const gapMs = Math.round(at - (starts[index - 1] ?? at));
    if (gapMs <= longestGapMs) continue;
    [longestGapMs, longestGapAtSec] = [gapMs, Math.round((at - (starts[0] as number)) / 1_000)];
  }
  return { longestGapMs, longestGapAtSec };
}

/** Whether the handler returned a value that the server refused. */
function isRefused({ resultSha, record }: Run): boolean {
  return resultSha !== null && record?.state !== "SUCCEEDED";
}

function attemptsOf({ evidence }: Case, state: string): number {
  return sum(evidence.executions.map(({ attempts }) => attempts.filter((record) => record.state === state).length));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
