import type { Case } from "../case.ts";
import type { FinalRun } from "../evidence.ts";
import { type Flow, successOf } from "../workflows/flows.ts";
import { nameOf, runsOf } from "./nodes.ts";
import type { Rule } from "./rule.ts";

/**
 * A retry keeps the nodes that have SUCCEEDED and follow from no node that runs again, and no handler of these starts in
 * it. Every other node is none of its kept ones.
 */
export const retriesKeepWhatSucceeded: Rule = (of) =>
  retriesOf(of).flatMap(({ flow, run, before }) => {
    const expected = keptNodes(flow, before);
    return flow.intended.graph.nodes.flatMap((node) => {
      const shown = run.nodes.find(({ name }) => name === node.name)?.keptFrom ?? null;
      const name = nameOf(flow, node);
      if (!expected.has(node.name)) return shown === null ? [] : [`${name} is kept, and had to run again`];
      const ran = flow.handled.get(node.name) ?? [];
      if (ran.length > 0) return [`${name} had succeeded, and its handler started again in ${ran[0]?.executionId}`];
      const source = flow.base && successOf(flow.base, node.name);
      if (source === null) return [`${name} is kept, and no handler of it has succeeded before`];
      if (shown?.executionId === source.executionId) return [];
      return [`${name} is kept from ${shown?.executionId ?? "nowhere"}, and succeeded in ${source.executionId}`];
    });
  });

/** Some retry kept a node, and ran another one. */
export const retriesHappened: Rule = (of) =>
  retriesOf(of).some(({ flow, run }) => isPartial(flow, run)) ? [] : ["no retry kept a node and ran another one"];

/** Counts of retries. */
export function retryFigures(of: Case): Record<string, number> {
  const retries = retriesOf(of);
  return {
    runsRetried: retries.length,
    retriesThatKeptNodes: retries.filter(({ flow, run }) => isPartial(flow, run)).length,
    nodesKept: retries.flatMap(({ run }) => run.nodes.filter(({ keptFrom }) => keptFrom !== null)).length,
  };
}

function isPartial({ handled }: Flow, { nodes }: FinalRun): boolean {
  return handled.size > 0 && nodes.some(({ keptFrom }) => keptFrom !== null);
}

/** Final retries with the runs that they retry. */
function retriesOf(of: Case): { flow: Flow; run: FinalRun; before: FinalRun }[] {
  return runsOf(of).flatMap(({ flow, run }) => {
    const before = flow.base?.made.find(({ workflowId }) => workflowId === run.retryOf);
    return before === undefined ? [] : [{ flow, run, before }];
  });
}

/** Names of the nodes that a retry has to keep. @param before run that it retries */
function keptNodes({ intended }: Flow, before: FinalRun): ReadonlySet<string> {
  const { graph, retryOf } = intended;
  const shown = new Map(before.nodes.map((node) => [node.name, node]));
  const anew = new Set(retryOf?.from);
  const kept = new Set<string>();
  for (const { name, dependsOn } of graph.nodes) {
    const { state, because } = shown.get(name) ?? {};
    const isSettled = state === "SUCCEEDED" || (state === "SKIPPED" && because?.kind === "DEPENDENCIES");
    if (!isSettled || dependsOn.some(({ node }) => anew.has(node))) anew.add(name);
    else if (state === "SUCCEEDED" && !anew.has(name)) kept.add(name);
  }
  return kept;
}
