import { isFinal } from "../../domain/execution.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecutionReader } from "../executions/execution-reader.ts";
import { LastEventIdHeader, streamAnswers, streamUntilFinal } from "../executions/stream-until-final.ts";
import { problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { decodeRunEventId } from "./run-event-id.ts";
import type { RunFollowers } from "./run-followers.ts";
import type { RunReader } from "./run-picture.ts";
import { RunTeller } from "./run-teller.ts";
import { knownPicture, WorkflowParams } from "./workflow-routes.ts";

interface WorkflowEventsDependencies {
  runs: RunReader;
  reader: ExecutionReader;
  followers: RunFollowers;
  runtime: Runtime;
}

/** Route GET /v1/workflows/{workflowId}/events */
export function workflowEventsRoute(app: HttpApp, deps: WorkflowEventsDependencies): void {
  const { runs, followers } = deps;
  app.get("/v1/workflows/:workflowId/events", { schema, config: { scope: "jobs:read" } }, async (request, reply) => {
    const seen = decodeRunEventId(request.headers["last-event-id"]);
    const tenant = tenantOfCaller(request);
    const picture = await knownPicture(runs, tenant, request.params.workflowId);
    const { executionId, state } = picture.run;
    if (isFinal(state) && seen.state === state) return reply.code(204).send();
    const teller = new RunTeller(tenant, picture, seen, () => runs.picture(tenant, executionId));
    const leave = isFinal(state) ? () => {} : followers.enter(teller);
    return await streamUntilFinal(reply, deps, { tenant, executionId, isFinal: isFinal(state), teller, leave });
  });
}

const schema = {
  operationId: "followWorkflow",
  tags: ["workflows"],
  summary:
    "Follow a run by server-sent events: `node` (a node whose state changed, as listed) and `workflow` (the run, when its mode or state changed, and when it was paused or resumed), until it is final. A stream that goes on repeats changes of the last 10 seconds before the event",
  params: WorkflowParams,
  headers: LastEventIdHeader,
  response: { ...streamAnswers, ...problems("not-found", "invalid-cursor") },
};
