import type { FinalRun } from "../evidence.ts";
import { type Flow, idsOfFlows } from "../workflows/flows.ts";
import { pauseFigures } from "./pauses.ts";
import { retryFigures } from "./retries.ts";
import type { Rule } from "./rule.ts";

const FINAL: readonly string[] = ["SUCCEEDED", "CANCELLED", "DEAD", "SKIPPED"];

/** An accepted workflow takes effect once. One without an answer takes effect at most once, and a refused one never. */
export const workflowsTakeEffectOnce: Rule = ({ flows, evidence }) => {
  const asked = new Set([...flows.values()].flatMap(({ made }) => made));
  const unasked = evidence.workflows
    .filter((run) => !asked.has(run))
    .map(({ workflowId, name }) => `nobody asked for the run ${workflowId} (${name})`);
  const wrong = [...flows].flatMap(([key, flow]) => {
    const why = wrongEffect(flow);
    return why === null ? [] : [`workflow ${key} (${flow.intended.shape}) ${why}`];
  });
  return [...unasked, ...wrong];
};

function wrongEffect({ answers, refusals, made }: Flow): string | null {
  const [refusal] = refusals;
  if (refusal !== undefined) return `was refused: ${refusal.message}`;
  if (made.length > 1) return `was made ${made.length} times: ${made.map(({ workflowId }) => workflowId).join(", ")}`;
  const [first] = answers;
  if (first === undefined) return null;
  const other = answers.find(({ workflowId }) => workflowId !== first.workflowId);
  if (other !== undefined) return `was answered with ${first.workflowId}, then with ${other.workflowId}`;
  const own = made[0]?.workflowId;
  if (first.deduplicated) return own === undefined ? null : `was said to be there already, and made as ${own}`;
  return own === first.workflowId ? null : `was answered with ${first.workflowId}, and is ${own ?? "nowhere"}`;
}

/** An accepted run is never lost: it becomes final once faults stop, and so does each of its nodes. */
export const acceptedRunsEnd: Rule = ({ flows, evidence }) => {
  const runs = new Map(evidence.workflows.map((run) => [run.workflowId, run]));
  const lost = [...flows].flatMap(([key, { answers }]) =>
    answers
      .filter(({ workflowId }) => !runs.has(workflowId))
      .map(({ workflowId }) => `workflow ${key} was accepted as run ${workflowId}, which does not exist`),
  );
  const open = evidence.workflows.flatMap(({ workflowId, state, nodes }) => {
    const living = nodes.filter((node) => !FINAL.includes(node.state)).map(({ name, state }) => `${name} is ${state}`);
    return FINAL.includes(state) && living.length === 0
      ? []
      : [`run ${workflowId} is ${state}: ${living.join(", ") || "all of its nodes have ended"}`];
  });
  return [...lost, ...open];
};

/**
 * At most one run of a unique key is unfinished: the last handler of a run ends before the first one of the next run
 * starts. A deduplicated submit names a run with the same unique key.
 */
export const uniqueRunsAreAlone: Rule = ({ flows }) => {
  const keyed = Map.groupBy(flows.values(), ({ intended }) => intended.graph.uniqueKey);
  return [...keyed].flatMap(([key, group]) => {
    const ids = new Set(group.flatMap(({ made }) => made.map(({ workflowId }) => workflowId)));
    const strange = group
      .flatMap(({ answers }) => answers.filter(({ deduplicated, workflowId }) => deduplicated && !ids.has(workflowId)))
      .map((answer) => `workflow ${answer.key} was said to be run ${answer.workflowId}, which has another unique key`);
    const lives = key === null ? [] : group.flatMap(lifeOf).sort((a, b) => a.from - b.from);
    const double = lives.flatMap(({ name, from }, index) => {
      const before = lives[index - 1];
      if (before === undefined || before.to <= from) return [];
      return [`the runs of workflows ${before.name} and ${name} of unique key ${key} were alive at once`];
    });
    return [...strange, ...double];
  });
};

function lifeOf({ intended, handled }: Flow): { name: string; from: number; to: number }[] {
  const current = [...handled.values()].flat().filter(({ startedAt, currentUntil }) => startedAt < currentUntil);
  if (current.length === 0) return [];
  const from = Math.min(...current.map(({ startedAt }) => startedAt));
  return [{ name: intended.key, from, to: Math.max(...current.map(({ currentUntil }) => currentUntil)) }];
}

/** Some run had a node that ran when a server was killed, and succeeded. */
export const runsOutliveTheServer: Rule = (of) =>
  hitRuns(of).some(({ state }) => state === "SUCCEEDED")
    ? []
    : ["no run of a workflow that had begun and not ended when the server was killed succeeded in the end"];

/** Runs that had begun and not ended when a server was killed, by the files of their workers. */
function hitRuns({ flows, evidence }: Parameters<Rule>[0]): FinalRun[] {
  const kills = evidence.faults.filter(({ event }) => event === "SERVER_KILLED");
  return [...flows.values()].flatMap(({ made, handled }) => {
    const runs = [...handled.values()].flat();
    const isHit = kills.some(
      ({ at }) => runs.some(({ startedAt }) => startedAt < at) && runs.some(({ endedAt }) => endedAt > at),
    );
    return isHit ? made : [];
  });
}

/** Counts of workflows. */
export function workflowFigures(of: Parameters<Rule>[0]): Record<string, number> {
  const { evidence, flows } = of;
  const states = Map.groupBy(evidence.workflows, ({ state }) => state);
  const nodes = idsOfFlows(evidence).nodes;
  const handled = [...flows.values()].flatMap((flow) => [...flow.handled.values()]);
  return {
    workflows: flows.size,
    workflowsAccepted: [...flows.values()].filter(({ answers }) => answers.length > 0).length,
    ...Object.fromEntries([...states].map(([state, list]) => [`workflows${state}`, list.length])),
    nodeExecutions: nodes.size,
    nodesRunAgain: handled.filter((runs) => runs.some(({ record }) => record?.state === "WORKER_LOST")).length,
    runsAtAServersDeath: hitRuns(of).length,
    ...retryFigures(of),
    ...pauseFigures(of),
  };
}
