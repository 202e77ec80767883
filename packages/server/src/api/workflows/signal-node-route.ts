import { SignalBody, SignalRequest } from "@mainspring/contract";
import { isFinal } from "../../domain/execution.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { passSignal, receivedSignal, type SignalDependencies, signalAnswer } from "../executions/signal-route.ts";
import { JobParts } from "../http/body/json-parts.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { type RunPicture, type RunReader, stateOfNode } from "./run-picture.ts";
import { NodeParams, numberOf } from "./workflow-node-routes.ts";
import { knownPicture, noSuchWorkflow } from "./workflow-routes.ts";

/** Route POST /v1/workflows/{workflowId}/nodes/{name}/signals */
export function signalNodeRoute(app: HttpApp, deps: Omit<SignalDependencies, "stores"> & { runs: RunReader }): void {
  const schema = {
    operationId: "signalWorkflowNode",
    tags: ["workflows"],
    summary: "Send a signal to the handler of a node, also before the node has an execution",
    params: NodeParams,
    body: SignalRequest,
    response: {
      200: answer(SignalBody, "Taken before: an earlier request had the same id, name and data"),
      202: answer(SignalBody, "Taken: a step that waits for the signal, or comes to wait for it, gets it"),
      ...problems("not-found", "wrong-state", "execution-final", "payload-too-large", "unsupported-media-type"),
    },
  };
  void app.register(async (scope) => {
    app.takeBodies(scope, () => new JobParts("data"));
    (scope as HttpApp).post(
      "/v1/workflows/:workflowId/nodes/:name/signals",
      { schema, config: { scope: "runs:control" } },
      async (request, reply) => {
        const signal = receivedSignal(request, deps);
        const { workflowId, name } = request.params;
        const picture = await knownPicture(deps.runs, tenantOfCaller(request), workflowId);
        const { executionId: run, shard } = picture.run;
        const node = numberOf(picture, name);
        if (picture.nodes[node]?.workflow !== undefined) throw new ProblemError(problem("wrong-state", OF_CHILD));
        if (picture.graph.isMap(node)) throw new ProblemError(problem("wrong-state", OF_MAP));
        const executionId = nodeExecutionId(run, node, null, 0);
        // The execution of a final node answers a repeat of an earlier signal.
        if (picture.progress.stateOf(node) !== "LIVE" && !picture.executions.has(node)) refuseUnborn(picture, node);
        const isKeyed = picture.nodes[node]?.concurrencyKey !== undefined && ({ isKeyed: true } as const);
        const outcome = await passSignal(deps, { shard, executionId, ofNode: { run, node, ...isKeyed } }, signal);
        const { code, body } = signalAnswer(outcome, signal, noSuchWorkflow);
        return reply.code(code).send(body);
      },
    );
  });
}

const OF_CHILD =
  "the node runs a sub-workflow, and no handler: send the signal to a node of its run, which is childWorkflowId of the node";
const OF_MAP =
  "the node is a map: each of its items has an execution. Send the signal to POST /v1/executions/{executionId}/signals; " +
  "GET /v1/workflows/{workflowId}/nodes/{name}/items has the ids";

/** @throws {ProblemError} 409: the node will never have an execution */
function refuseUnborn(picture: RunPicture, node: number): void {
  const { state } = picture.run;
  const isSkipped = stateOfNode(picture, node) === "SKIPPED";
  if (!isSkipped && !isFinal(state)) return;
  const why = isSkipped ? "the node is SKIPPED" : `the workflow is ${state}`;
  throw new ProblemError(problem("execution-final", `${why}: no handler of it runs any more`));
}
