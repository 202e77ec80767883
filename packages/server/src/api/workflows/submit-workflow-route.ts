import {
  WorkflowAccepted,
  WorkflowDeduplicated,
  WorkflowEnvelope,
  WorkflowPlanned,
  WorkflowSubmission,
} from "@mainspring/contract";
import { BATCH_BODY_BYTES_MAX, WORKFLOW_NODES_MAX } from "@mainspring/contract/limits";
import { type TSchema, Type } from "typebox";
import type { ReceivedBody } from "../http/body/body-reader.ts";
import { BatchParts, type JobSlice } from "../http/body/json-parts.ts";
import { answer, problems } from "../http/documented.ts";
import { type HttpApp, validator } from "../http/http-app.ts";
import { idempotencyOf } from "../submit/job-intake.ts";
import { bytesOf, SUBMIT_PROBLEMS, SubmitHeaders } from "../submit/submit-route.ts";
import type { WorkflowSubmitter } from "./workflow-submitter.ts";

/** Route POST /v1/workflows */
export function submitWorkflowRoute(app: HttpApp, submitter: WorkflowSubmitter): void {
  const schema = {
    operationId: "submitWorkflow",
    tags: ["workflows"],
    summary:
      "Submit a workflow, to start now, later, or again and again: up to 10,000 nodes, each of which runs when the nodes before it allow it; all or nothing",
    headers: SubmitHeaders,
    body: WorkflowSubmission,
    response: {
      200: answer(WorkflowDeduplicated, "The unique key is held: these are the ids that hold it. Nothing was written."),
      201: answer(
        Type.Union([WorkflowAccepted, WorkflowPlanned], { title: "SubmittedWorkflow" }),
        "Taken. A repeat by Idempotency-Key has the header Idempotent-Replayed: true.",
      ),
      ...problems(...SUBMIT_PROBLEMS),
    },
  };
  const validators: Record<string, ReturnType<typeof validator>> = { body: validator(WorkflowEnvelope, false) };
  const options = {
    schema,
    config: { scope: "jobs:submit" as const },
    bodyLimit: BATCH_BODY_BYTES_MAX,
    validatorCompiler: ({ schema, httpPart }: { schema: TSchema; httpPart?: string }) =>
      validators[httpPart ?? ""] ?? validator(schema, false),
  };
  void app.register(async (scope) => {
    app.takeBodies(scope, () => new BatchParts("nodes", WORKFLOW_NODES_MAX, ["input", "output"]));
    (scope as HttpApp).post("/v1/workflows", options, async (request, reply) => {
      // There is one, because its schema was met: the nodes are slices of its bytes.
      const received = request.received as ReceivedBody;
      const { nodes: slices, ...head } = request.body as unknown as WorkflowEnvelope & { nodes: JobSlice[] };
      const { bytes } = received;
      const parts = received.parts as BatchParts;
      const apart = { input: bytesOf(bytes, parts.apart("input")), output: bytesOf(bytes, parts.apart("output")) };
      const { traceparent } = request.headers;
      const idempotency = idempotencyOf(request.headers["idempotency-key"], received);
      const workflow = { head, bytes, slices, ...apart, traceparent };
      const { replayed, body } = await submitter.submit(workflow, idempotency, request.submitNote);
      if (replayed) void reply.header("idempotent-replayed", "true");
      if ("deduplicated" in body) return reply.code(200).send(body);
      return reply.code(201).send(body);
    });
  });
}
