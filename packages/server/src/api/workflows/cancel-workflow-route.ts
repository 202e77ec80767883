import { CancelledWorkflow } from "@mainspring/contract";
import { isFinal } from "../../domain/execution.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { RunView } from "../../ports/store-runs.ts";
import { noteOf } from "../audit/audit-notes.ts";
import type { Commands } from "../commands.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { RunReader } from "./run-picture.ts";
import { noSuchWorkflow, WorkflowParams } from "./workflow-routes.ts";

export interface CancelDependencies {
  runtime: Runtime;
  commands: Commands;
  runs: RunReader;
}

/** Route POST /v1/workflows/{workflowId}/cancel */
export function cancelWorkflowRoute(app: HttpApp, { runtime, commands, runs }: CancelDependencies): void {
  const schema = {
    operationId: "cancelWorkflow",
    tags: ["workflows"],
    summary: "Cancel a run of a workflow: no further node starts, and nodes that have started are cancelled",
    params: WorkflowParams,
    response: {
      200: answer(CancelledWorkflow, "Cancelled: none of its nodes was at a worker, or it was cancelled already"),
      202: answer(CancelledWorkflow, "Requested: it is CANCELLED once workers have stopped its nodes"),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post(
    "/v1/workflows/:workflowId/cancel",
    { schema, config: { scope: "runs:control" } },
    async (request, reply) => {
      refuseBody(request.body);
      const tenant = tenantOfCaller(request);
      const executionId = request.params.workflowId.toLowerCase();
      const run = await knownRun(runs, tenant, executionId);
      if (isFinal(run.state)) return finalAnswer(run);
      refuseCompensating(run);
      const command = { id: runtime.uuid(), shard: run.shard, kind: "CANCEL" as const, executionId };
      const outcome = await commands.give(command, noteOf(request, executionId));
      if (outcome === "CANCELLED")
        return { workflowId: executionId, state: "CANCELLED" as const, cancelRequested: false };
      const after = await knownRun(runs, tenant, executionId);
      if (isFinal(after.state)) return finalAnswer(after);
      refuseCompensating(after);
      return reply.code(202).send({ workflowId: executionId, state: after.state, cancelRequested: true });
    },
  );
}

/** @throws {ProblemError} 409: the run compensates its nodes, and not because of a cancellation */
function refuseCompensating({ outcome }: RunView): void {
  if (outcome === null || outcome.state === "CANCELLED") return;
  const detail =
    "the workflow is COMPENSATING: what its nodes did is being undone. Wait for its end, pause it, or cancel the execution of a compensation";
  throw new ProblemError(problem("wrong-state", detail));
}

function finalAnswer({ executionId, state }: RunView) {
  if (state === "CANCELLED") return { workflowId: executionId, state, cancelRequested: false };
  throw new ProblemError(
    problem("wrong-state", `the workflow is ${state}: only one that is not final can be cancelled`),
  );
}

/** @throws {ProblemError} 404: there is no such run */
export async function knownRun(runs: RunReader, tenant: Tenant, id: string): Promise<RunView> {
  const run = await runs.read(tenant, id);
  if (run === null) throw noSuchWorkflow();
  return run;
}
