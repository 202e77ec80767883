import type { ExplanationBody } from "@mainspring/contract";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import { type RunPicture, type RunReader, shownMode } from "./run-picture.ts";
import { firstNames } from "./workflow-views.ts";

type Reasons = ExplanationBody["reasons"];

/** Function that tells why a run is not final; null: there is no such run. It throws StoreUnavailable. */
export function runExplainer(
  runs: Pick<RunReader, "picture">,
): (tenant: Tenant, run: ExecutionId) => Promise<Reasons | null> {
  return async (tenant, run) => {
    const picture = await runs.picture(tenant, run);
    return picture === null ? null : openNodes(picture);
  };
}

/** The nodes for which a run waits, first those with an execution. A run without open nodes ends in the next commit. */
function openNodes(picture: RunPicture): Reasons {
  const { run, graph, progress, compensation } = picture;
  const inState = (...states: string[]) =>
    Array.from(graph.order).filter((node) => states.includes(progress.stateOf(node)));
  const undoing = (...states: string[]) =>
    Array.from(graph.order).filter((node) => states.includes(compensation?.stateOf(node) ?? ""));
  const open =
    compensation === null
      ? [...inState("LIVE"), ...inState("READY", "BLOCKED")]
      : [...undoing("LIVE"), ...undoing("READY", "BLOCKED").reverse()];
  const first = firstNames(picture, open);
  const explained = `/v1/workflows/${run.executionId}/nodes/{name}/explain`;
  const paused = run.paused ? [{ reason: "WORKFLOW_PAUSED", workflowId: run.executionId } as const] : [];
  return [...paused, { reason: "PARENTS_OPEN", open: open.length, first, mode: shownMode(run), explained }];
}
