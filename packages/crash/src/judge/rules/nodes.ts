import type { GraphNode } from "../../history/workflow-events.ts";
import type { Case } from "../case.ts";
import type { FinalRun } from "../evidence.ts";
import type { Flow } from "../workflows/flows.ts";
import { endsOf, readyAt, survivors } from "../workflows/outcomes.ts";
import type { Rule } from "./rule.ts";

type ShownNode = FinalRun["nodes"][number];

/** No handler of a node starts before the ends of the node's parents have met its condition. */
export const nodesFollowTheirParents: Rule = (of) =>
  runsOf(of).flatMap(({ flow, run }) => {
    const ends = endsOf(flow, run);
    return flow.intended.graph.nodes.flatMap((node) => {
      const [first] = flow.handled.get(node.name) ?? [];
      if (first === undefined) return [];
      const from = readyAt(node, ends);
      if (first.startedAt >= from) return [];
      const name = nameOf(flow, node);
      if (!Number.isFinite(from)) return [`${name} began, and its parents never met its condition`];
      return [`${name} began ${Math.round(from - first.startedAt)} ms before its parents met its condition`];
    });
  });

/** Each node of a run is one execution, and at most one attempt of it succeeds. */
export const nodesAreOneExecution: Rule = (of) =>
  [...of.flows.values()].flatMap((flow) =>
    flow.intended.graph.nodes.flatMap((node) => {
      const runs = flow.handled.get(node.name) ?? [];
      const ids = new Set([...runs.map(({ executionId }) => executionId), ...saidIds(flow, node)]);
      const successes = runs.filter(({ resultSha, record }) => resultSha !== null && record?.state === "SUCCEEDED");
      const name = nameOf(flow, node);
      if (ids.size > 1) return [`${name} is ${ids.size} executions: ${[...ids].join(", ")}`];
      return successes.length > 1 ? [`${name} succeeded ${successes.length} times`] : [];
    }),
  );

/** Execution of the node according to the server's answers and its final list. */
function saidIds({ answers, made }: Flow, { name }: GraphNode): string[] {
  const answered = answers.flatMap(({ executionIds }) => executionIds[name] ?? []);
  const listed = made.flatMap(({ nodes }) => nodes.filter((node) => node.name === name));
  return [...answered, ...listed.flatMap(({ executionId }) => executionId ?? [])];
}

/**
 * Every node that the graph and the ends of its parents call for was done when its run became final. In a FAIL_FAST run
 * that failed, these are only nodes that survive a failure.
 */
export const endedRunsAreComplete: Rule = (of) =>
  runsOf(of).flatMap(({ flow, run }) => {
    const { nodes, onFailure } = flow.intended.graph;
    const ends = endsOf(flow, run);
    const stays = run.state === "DEAD" && onFailure === "FAIL_FAST" ? survivors(nodes) : null;
    const needed = nodes.filter((node) => (stays?.has(node.name) ?? true) && Number.isFinite(readyAt(node, ends)));
    return needed
      .filter(({ name }) => !["SUCCEEDED", "DEAD"].includes(ends.get(name)?.state ?? ""))
      .map((node) => `${nameOf(flow, node)} was never done, and the run is ${run.state}`);
  });

/** No handler of a node starts after the node's run was final, be it by success or by a failure. */
export const endedRunsStartNothing: Rule = (of) => {
  const { wallClockZeroMs, toleranceMs } = of.evidence;
  return runsOf(of).flatMap(({ flow, run }) => {
    const endedAt = Date.parse(run.finishedAt ?? "") + wallClockZeroMs + toleranceMs;
    return flow.intended.graph.nodes.flatMap((node) =>
      (flow.handled.get(node.name) ?? [])
        // A worker that stood still may start an attempt that the server had declared over.
        .filter(({ startedAt, currentUntil }) => startedAt > endedAt && startedAt < currentUntil)
        .map(
          ({ startedAt }) => `${nameOf(flow, node)} began ${Math.round(startedAt - endedAt)} ms after its run ended`,
        ),
    );
  });
};

/** The states of runs and nodes that clients read agree with each other, and with the files of the workers. */
export const runsAgreeWithHandlers: Rule = (of) =>
  runsOf(of).flatMap(({ flow, run }) => {
    const { nodes } = flow.intended.graph;
    const findings = nodes.flatMap((node) => {
      const shown = run.nodes.filter(({ name }) => name === node.name);
      if (shown.length !== 1) return [`${nameOf(flow, node)} is listed ${shown.length} times`];
      const why = wrongState(of, flow, run, node, shown[0] as ShownNode);
      return why === null ? [] : [`${nameOf(flow, node)} is ${shown[0]?.state}, and ${why}`];
    });
    const name = `run ${run.workflowId} (${flow.intended.shape})`;
    if (run.nodes.length !== nodes.length) findings.push(`${name} has ${run.nodes.length} nodes, not ${nodes.length}`);
    const state = stateByNodes(flow, run);
    if (run.state !== state) findings.push(`${name} is ${run.state}, and by its nodes it is ${state}`);
    const others = [...seenStates(of, run), of.executions.get(run.workflowId)?.state ?? "not there"];
    for (const other of new Set(others)) {
      if (other !== run.state) findings.push(`${name} is ${run.state}, and was read as ${other} before`);
    }
    return findings;
  });

function wrongState(
  { executions }: Case,
  { handled, intended }: Flow,
  { state }: FinalRun,
  { name, isDoomed, branch }: GraphNode,
  shown: ShownNode,
): string | null {
  const runs = handled.get(name) ?? [];
  const own = shown.executionId === null ? null : executions.get(shown.executionId);
  if (own !== null && own?.state !== shown.state) return `its execution is ${own?.state ?? "not there"}`;
  const isReturned = runs.some(({ resultSha }) => resultSha !== null);
  const isAccepted = runs.some(({ resultSha, record }) => resultSha !== null && record?.state === "SUCCEEDED");
  if (isAccepted && shown.state !== "SUCCEEDED") return "a result of its handler was accepted";
  if (shown.state === "SUCCEEDED") {
    if (!isReturned && shown.keptFrom === null) return "no handler returned a value";
    return shown.branch === branch ? null : `it took the branch ${shown.branch}, its handler named ${branch}`;
  }
  if (shown.state === "SKIPPED") return runs.length === 0 ? null : "its handler ran";
  if (shown.state === "DEAD") return isDoomed && runs.length > 0 ? null : "its handler was not to fail for good";
  const { onFailure, nodes } = intended.graph;
  const mayBeCancelled = state === "DEAD" && onFailure === "FAIL_FAST" && !survivors(nodes).has(name);
  return shown.state !== "CANCELLED" || mayBeCancelled ? null : "nothing called for that";
}

function stateByNodes({ intended }: Flow, { nodes }: FinalRun): string {
  const allowed = new Set(intended.graph.nodes.filter((node) => node.allowFailure).map(({ name }) => name));
  const isFatal = ({ name, state }: ShownNode) => (state === "DEAD" || state === "CANCELLED") && !allowed.has(name);
  return nodes.some(isFatal) ? "DEAD" : "SUCCEEDED";
}

function seenStates({ evidence }: Case, { workflowId }: FinalRun): string[] {
  return evidence.clients.flatMap((event) =>
    event.event === "WORKFLOW_SEEN_FINAL" && event.workflowId === workflowId ? [event.state] : [],
  );
}

/** Final runs with their workflows. */
export function runsOf({ flows }: Case): { flow: Flow; run: FinalRun }[] {
  return [...flows.values()].flatMap((flow) =>
    flow.made.filter(({ finishedAt }) => finishedAt !== null).map((run) => ({ flow, run })),
  );
}

export function nameOf({ intended }: Flow, { name }: GraphNode): string {
  return `node ${name} of workflow ${intended.key} (${intended.shape})`;
}
