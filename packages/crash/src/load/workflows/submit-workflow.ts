import { monotonicMs } from "../../clock.ts";
import type { SubmitterParts } from "../submitters.ts";
import { isTransient, untilAnswered } from "../until-answered.ts";
import type { WorkflowOrder } from "./workflow-order.ts";

type Parts = Pick<SubmitterParts, "client" | "history">;

/**
 * Submits a workflow, and records the request and its answer.
 * @param idempotent whether the request is repeated with its key until it is answered; REPEAT: so too, of an earlier submit
 * @returns id of the run; null: refused, or not known
 */
export async function submitWorkflow(
  { client, history }: Parts,
  { at, key, shape, graph, request }: WorkflowOrder,
  idempotent: boolean | "REPEAT",
): Promise<string | null> {
  if (idempotent !== "REPEAT") history.write({ event: "WORKFLOW_INTENDED", at, key, shape, idempotent, graph });
  const submit = () => client.workflows.submit(request, idempotent === false ? {} : { idempotencyKey: key });
  try {
    const answer = await (idempotent === false ? submit() : untilAnswered(submit));
    const { workflowId } = answer;
    const ends =
      "deduplicated" in answer
        ? { executionIds: {}, deduplicated: true }
        : { executionIds: answer.executionIds, deduplicated: false };
    history.write({ event: "WORKFLOW_ANSWERED", at: monotonicMs(), key, workflowId, ...ends });
    return workflowId;
  } catch (error) {
    // Without a key, the workflow may take effect once or not at all.
    if (idempotent !== false || !isTransient(error)) {
      history.write({ event: "WORKFLOW_REFUSED", at: monotonicMs(), key, message: String((error as Error).message) });
    }
    return null;
  }
}

/** Waits for the end of a run, and records its state. */
export async function watchWorkflow({ client, history }: Parts, workflowId: string): Promise<void> {
  const { state } = await untilAnswered(() => client.workflows.waitFor(workflowId));
  history.write({ event: "WORKFLOW_SEEN_FINAL", at: monotonicMs(), workflowId, state });
}
