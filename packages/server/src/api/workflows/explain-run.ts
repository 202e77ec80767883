import type { ExplanationBody } from "@mainspring/contract";
import type { ExecutionId } from "../../domain/ids.ts";
import type { RunPicture, RunReader } from "./run-picture.ts";
import { firstNames } from "./workflow-views.ts";

type Reasons = ExplanationBody["reasons"];

/** Function that tells why a run is not final; null: there is no such run. It throws StoreUnavailable. */
export function runExplainer(runs: Pick<RunReader, "picture">): (run: ExecutionId) => Promise<Reasons | null> {
  return async (run) => {
    const picture = await runs.picture(run);
    return picture === null ? null : openNodes(picture);
  };
}

/** The nodes for which a run waits, first those with an execution. A run without open nodes ends in the next commit. */
function openNodes(picture: RunPicture): Reasons {
  const { run, graph, progress } = picture;
  const inState = (...states: string[]) =>
    Array.from(graph.order).filter((node) => states.includes(progress.stateOf(node)));
  const open = [...inState("LIVE"), ...inState("READY", "BLOCKED")];
  const first = firstNames(picture, open);
  const explained = `/v1/workflows/${run.executionId}/nodes/{name}/explain`;
  const paused = run.paused ? [{ reason: "WORKFLOW_PAUSED", workflowId: run.executionId } as const] : [];
  return [...paused, { reason: "PARENTS_OPEN", open: open.length, first, mode: run.mode, explained }];
}
