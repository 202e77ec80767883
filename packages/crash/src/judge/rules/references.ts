import { digestOf } from "../../history/digest.ts";
import { type Graph, type GraphNode, givenDigest, givenValue, inputOf } from "../../history/workflow-events.ts";
import type { Case } from "../case.ts";
import type { FinalRun } from "../evidence.ts";
import { type Flow, successOf } from "../workflows/flows.ts";
import { nameOf, runsOf } from "./nodes.ts";
import type { Rule } from "./rule.ts";

const NOTHING = givenValue(null, null);

/**
 * Every handler of a node got the results that the handlers of other nodes returned, in place of the references of its
 * payload, and null in place of the results of nodes that have none.
 */
export const referencesAreTrue: Rule = (of) =>
  runsOf(of).flatMap(({ flow, run }) =>
    flow.intended.graph.nodes.flatMap((node) => {
      const certain = certainlyEnded(flow.intended.graph, run, node);
      return (flow.handled.get(node.name) ?? []).flatMap(({ given, attempt }) => {
        const name = `attempt ${attempt} of ${nameOf(flow, node)}`;
        const names = Object.keys(given);
        if (names.sort().join() !== [...node.refersTo].sort().join()) return [`${name} got values of [${names}]`];
        return names
          .filter((from) => given[from] !== valueOf(flow, from) && (certain.has(from) || given[from] !== NOTHING))
          .map((from) => `${name} got another value than the result of ${from}: ${given[from]}`);
      });
    }),
  );

/** The result of a run that SUCCEEDED is its output, and no other run has a result. */
export const outputsAreTrue: Rule = (of) =>
  runsOf(of).flatMap(({ flow, run }) => {
    const { output } = flow.intended.graph;
    const isMade = run.state === "SUCCEEDED" && output !== null;
    const expected = (isMade && successOf(flow, output)?.resultSha) || digestOf(null);
    const resultSha = of.executions.get(run.workflowId)?.resultSha;
    if (resultSha === undefined || resultSha === expected) return [];
    return [
      `run ${run.workflowId} (${flow.intended.shape}) is ${run.state} with another result than that of ${output}`,
    ];
  });

/** Number of values that handlers got in place of references, without those that are null. */
export function referenceFigures({ runs }: Case): Record<string, number> {
  const given = [...runs.values()].flat().flatMap((run) => Object.values(run.given));
  return { referencesResolved: given.filter((value) => value !== NOTHING).length };
}

function valueOf(flow: Flow, from: string): string {
  const { intended } = flow;
  if (from === "$input") {
    const input = inputOf(intended.retryOf?.run ?? intended.key);
    return givenValue(input, input.executionId);
  }
  const success = successOf(flow, from);
  return success === null ? NOTHING : givenDigest(success.resultSha ?? "", success.executionId);
}

/**
 * Names of the nodes that have certainly ended when the node starts, and `$input`. Nodes that start with the first of
 * several parents, and nodes that are SKIPPED because of one of them, do not wait for the others.
 */
function certainlyEnded({ nodes }: Graph, run: FinalRun, node: GraphNode): ReadonlySet<string> {
  const found = new Set(["$input"]);
  const skipped = new Set(run.nodes.filter(({ state }) => state === "SKIPPED").map(({ name }) => name));
  const visit = ({ name, dependsOn, join }: GraphNode) => {
    if ((join === "ANY" || skipped.has(name)) && dependsOn.length > 1) return;
    for (const edge of dependsOn) {
      found.add(edge.node);
      const parent = nodes.find((other) => other.name === edge.node);
      if (parent !== undefined) visit(parent);
    }
  };
  visit(node);
  return found;
}
