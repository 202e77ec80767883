import { OrderedWorkflow } from "@mainspring/contract";
import { isFinal } from "../../domain/execution.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { RunView } from "../../ports/store-runs.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { type CancelDependencies, knownRun } from "./cancel-workflow-route.ts";
import { WorkflowParams } from "./workflow-routes.ts";
import { modeOf } from "./workflow-views.ts";

interface Order {
  path: "pause" | "resume";
  kind: "PAUSE_RUN" | "RESUME_RUN";
  paused: boolean;
  summary: string;
  done: string;
}

const ORDERS: readonly Order[] = [
  {
    ...{ path: "pause", kind: "PAUSE_RUN", paused: true },
    summary: "Pause a run of a workflow: no node of it starts until it is resumed, and attempts that run go on",
    done: "Paused: it is durable that no node starts",
  },
  {
    ...{ path: "resume", kind: "RESUME_RUN", paused: false },
    summary: "Resume a run of a workflow that was paused",
    done: "It is not paused",
  },
];

/** Routes POST /v1/workflows/{workflowId}/pause and /resume */
export function orderWorkflowRoutes(app: HttpApp, deps: CancelDependencies): void {
  for (const order of ORDERS) orderRoute(app, deps, order);
}

function orderRoute(app: HttpApp, { runtime, commands, runs }: CancelDependencies, order: Order): void {
  const { path, kind, paused, summary, done } = order;
  const schema = {
    operationId: `${path}Workflow`,
    tags: ["workflows"],
    summary,
    params: WorkflowParams,
    response: {
      200: answer(OrderedWorkflow, done),
      202: answer(OrderedWorkflow, "Requested: the owner of the run has yet to do it"),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post(
    `/v1/workflows/:workflowId/${path}`,
    { schema, config: { scope: "runs:control" } },
    async (request, reply) => {
      refuseBody(request.body);
      const tenant = tenantOfCaller(request);
      const executionId = request.params.workflowId.toLowerCase();
      const { shard } = await orderable(tenant, executionId);
      const command = { id: runtime.uuid(), shard, kind, executionId };
      const outcome = await commands.give(command, noteOf(request, executionId));
      const run = await orderable(tenant, executionId);
      const isDone = outcome !== null && run.paused === paused;
      return reply.code(isDone ? 200 : 202).send({ workflowId: executionId, state: run.state, ...modeOf(run) });
    },
  );

  /** @throws {ProblemError} 404 or 409 */
  async function orderable(tenant: Tenant, id: string): Promise<RunView> {
    const run = await knownRun(runs, tenant, id);
    const { state, mode, outcome, startedAt } = run;
    const isEnding = outcome === null && (mode === "CANCELLING" || mode === "EXPIRING");
    if (!isFinal(state) && !isEnding && startedAt !== null) return run;
    const what = isEnding && !isFinal(state) ? mode : state;
    throw new ProblemError(
      problem("wrong-state", `the workflow is ${what}: only one that starts nodes can be ${path}d`),
    );
  }
}
