import type { ClientEvent } from "../../history/events.ts";
import type { Run } from "../case.ts";
import type { Evidence, FinalRun } from "../evidence.ts";

type Of<Name extends ClientEvent["event"]> = Extract<ClientEvent, { event: Name }>;
type Intended = Of<"WORKFLOW_INTENDED">;

/** A workflow that a client submitted, or a retry of a run, and everything that is known about it. */
export interface Flow {
  intended: Intended;
  answers: Of<"WORKFLOW_ANSWERED">[];
  refusals: Of<"WORKFLOW_REFUSED">[];
  /** Runs that the server has of the workflow or the retry. */
  made: readonly FinalRun[];
  /** Runs of the handlers of each node by its name, in the order of their starts. */
  handled: ReadonlyMap<string, readonly Run[]>;
  /** Workflow or retry that this one retries; null: it is no retry, or one of a run that nobody submitted. */
  base: Flow | null;
}

/** Workflows and retries of all clients by their keys. @param runs runs of handlers in the order of their starts */
export function allFlows(evidence: Evidence, runs: readonly Run[]): Map<string, Flow> {
  const flows = new Map<string, Flow>();
  const byRun = new Map<string, Flow>();
  const submitted = Map.groupBy(
    evidence.workflows.filter(({ retryOf }) => retryOf === null),
    ({ name }) => name,
  );
  const retries = Map.groupBy(evidence.workflows, ({ retryOf }) => retryOf);
  for (const event of evidence.clients) {
    if (event.event === "WORKFLOW_INTENDED") {
      const { key, retryOf } = event;
      const own = (retryOf === undefined ? submitted.get(key) : retries.get(retryOf.workflowId)) ?? [];
      const base = (retryOf && byRun.get(retryOf.workflowId)) ?? null;
      const flow = { intended: event, answers: [], refusals: [], made: own, handled: new Map(), base };
      flows.set(key, flow);
      for (const { workflowId } of own) byRun.set(workflowId, flow);
    }
    if (event.event === "WORKFLOW_ANSWERED") flows.get(event.key)?.answers.push(event);
    if (event.event === "WORKFLOW_REFUSED") flows.get(event.key)?.refusals.push(event);
  }
  handOut(runs, [...flows.values()]);
  return flows;
}

/**
 * Gives each workflow and each retry the runs of its handlers: those of executions that the server lists for it, and of
 * executions that it lists nowhere, if they started after the request and before the next retry.
 */
function handOut(runs: readonly Run[], flows: readonly Flow[]): void {
  const owners = new Map<string, Flow>();
  for (const flow of flows) {
    for (const { nodes } of flow.made)
      for (const { executionId } of nodes) if (executionId) owners.set(executionId, flow);
  }
  const families = Map.groupBy(flows, ({ intended }) => intended.retryOf?.run ?? intended.key);
  const ownerOf = ({ executionId, node, startedAt }: Run) => {
    const family = (node && families.get(node.run)) ?? [];
    const owner = owners.get(executionId);
    if (owner !== undefined && family.includes(owner)) return owner;
    return family.findLast(({ intended }) => intended.retryOf === undefined || intended.at <= startedAt) ?? null;
  };
  for (const [flow, own] of Map.groupBy(runs, ownerOf)) {
    if (flow !== null) flow.handled = Map.groupBy(own, ({ node }) => node?.name ?? "");
  }
}

/** Run of a handler whose result counts for a node: one of the workflow itself, or of the run that a retry keeps it from. */
export function successOf({ handled, made, base }: Flow, name: string): Run | null {
  const own = handled.get(name)?.find(({ resultSha, record }) => resultSha !== null && record?.state === "SUCCEEDED");
  if (own !== undefined || base === null) return own ?? null;
  const isKept = made.some(({ nodes }) => nodes.some((node) => node.name === name && node.keptFrom !== null));
  return isKept ? successOf(base, name) : null;
}

/** Ids of the executions of runs and of their nodes. */
export function idsOfFlows({ workflows }: Evidence): { runs: Set<string>; nodes: Set<string> } {
  const ids = workflows.flatMap(({ nodes }) => nodes.flatMap(({ executionId }) => executionId ?? []));
  return { runs: new Set(workflows.map(({ workflowId }) => workflowId)), nodes: new Set(ids) };
}
