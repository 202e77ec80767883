import type { ClientEvent } from "../../history/events.ts";
import type { Run } from "../case.ts";
import type { Evidence, FinalRun } from "../evidence.ts";

type Of<Name extends ClientEvent["event"]> = Extract<ClientEvent, { event: Name }>;

/** A workflow that a client submitted, and everything that is known about it. */
export interface Flow {
  intended: Of<"WORKFLOW_INTENDED">;
  answers: Of<"WORKFLOW_ANSWERED">[];
  refusals: Of<"WORKFLOW_REFUSED">[];
  /** Runs that the server has of the workflow. */
  made: readonly FinalRun[];
  /** Runs of the handlers of each node by its name, in the order of their starts. */
  handled: ReadonlyMap<string, readonly Run[]>;
}

/** Workflows of all clients by their keys. @param runs runs of handlers in the order of their starts */
export function allFlows(evidence: Evidence, runs: readonly Run[]): Map<string, Flow> {
  const made = Map.groupBy(evidence.workflows, ({ name }) => name);
  const handled = Map.groupBy(runs, ({ node }) => node?.run ?? null);
  const flows = new Map<string, Flow>();
  for (const event of evidence.clients) {
    if (event.event === "WORKFLOW_INTENDED") {
      const { key } = event;
      const nodes = Map.groupBy(handled.get(key) ?? [], ({ node }) => node?.name ?? "");
      flows.set(key, { intended: event, answers: [], refusals: [], made: made.get(key) ?? [], handled: nodes });
    }
    if (event.event === "WORKFLOW_ANSWERED") flows.get(event.key)?.answers.push(event);
    if (event.event === "WORKFLOW_REFUSED") flows.get(event.key)?.refusals.push(event);
  }
  return flows;
}

/** Ids of the executions of runs and of their nodes. */
export function idsOfFlows({ workflows }: Evidence): { runs: Set<string>; nodes: Set<string> } {
  const ids = workflows.flatMap(({ nodes }) => nodes.flatMap(({ executionId }) => executionId ?? []));
  return { runs: new Set(workflows.map(({ workflowId }) => workflowId)), nodes: new Set(ids) };
}
