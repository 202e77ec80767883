import { FINAL_STATES } from "./api-types.ts";
import type { ServerSentEvent } from "./event-lines.ts";
import type { Followed } from "./follow.ts";
import type { Workflow, WorkflowEvent, WorkflowNode } from "./workflow-types.ts";

/**
 * The streams of one run. A stream that continues after an event repeats some changes before it, which the caller does
 * not get again.
 */
export function workflowEvents(): Followed<WorkflowEvent> {
  const told = new Map<string, string>();
  return {
    read: (sent) => {
      const { event, id, data } = sent;
      if (event === "workflow") return { type: "workflow", id, workflow: JSON.parse(data) as Workflow };
      return event === "node" ? nodeEvent(sent, told) : null;
    },
    isLast: (event) => event?.type === "workflow" && FINAL_STATES.includes(event.workflow.state),
  };
}

/** @param told states of nodes that the caller has got */
function nodeEvent({ id, data }: ServerSentEvent, told: Map<string, string>): WorkflowEvent | null {
  const node = JSON.parse(data) as WorkflowNode;
  // A server may send less than this release knows of.
  const { state: undone, attempt } = node.compensation ?? { state: "", attempt: 0 };
  const state = `${node.state} ${node.attempt} ${undone} ${attempt}`;
  if (told.get(node.name) === state) return null;
  told.set(node.name, state);
  return { type: "node", id, node };
}
