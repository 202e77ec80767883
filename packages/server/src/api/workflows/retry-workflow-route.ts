import { RetriedWorkflow, WorkflowRetry } from "@mainspring/contract";
import { noteOf } from "../audit/audit-notes.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";
import { hashOf } from "../http/body/body-reader.ts";
import { answer, problems } from "../http/documented.ts";
import { type HttpApp, withoutBody } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { idempotencyOf } from "../submit/job-intake.ts";
import { IdempotencyHeaders } from "../submit/submit-route.ts";
import { rootWarnings } from "./started-run.ts";
import type { WorkflowRetrier } from "./workflow-retrier.ts";
import { WorkflowParams } from "./workflow-routes.ts";

/** Route POST /v1/workflows/{workflowId}/retry */
export function retryWorkflowRoute(app: HttpApp, retrier: WorkflowRetrier, handlers: JobHandlers): void {
  const schema = {
    operationId: "retryWorkflow",
    tags: ["workflows"],
    summary: "Run a part of a final run again, as a new run that keeps the results of all other nodes",
    params: WorkflowParams,
    headers: IdempotencyHeaders,
    body: WorkflowRetry,
    response: {
      201: answer(
        RetriedWorkflow,
        "Started: a new run of the same graph. A repeat by Idempotency-Key has the header Idempotent-Replayed: true.",
      ),
      ...problems(
        "not-found",
        "payload-too-large",
        "unsupported-media-type",
        "idempotency-key-reused",
        "key-in-use",
        "wrong-state",
      ),
    },
  };
  app.post("/v1/workflows/:workflowId/retry", withoutBody(schema, "runs:control"), async (request, reply) => {
    const workflowId = request.params.workflowId.toLowerCase();
    const hash = hashOf(`/v1/workflows/${workflowId}/retry`, request.received?.bytes ?? null);
    const tenant = tenantOfCaller(request);
    const idempotency = idempotencyOf(tenant, request.headers["idempotency-key"], { hash });
    const from = request.body.from ?? "FAILED";
    const note = noteOf(request, workflowId);
    const { replayed, body, first } = await retrier.retry(tenant, workflowId, from, idempotency, note);
    if (replayed) void reply.header("idempotent-replayed", "true");
    return reply.code(201).send({ ...body, ...(await rootWarnings(tenant, handlers, first)) });
  });
}
