import {
  ChangedBody,
  DeletedBody,
  JobSubmission,
  Line,
  oneOf,
  RetriedBody,
  RetryRequest,
  Uuid,
} from "@mainspring/contract";
import { SINGLE_BODY_BYTES_MAX } from "@mainspring/contract/limits";
import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Tenant } from "../../ports/authenticator.ts";
import { noteOf } from "../audit/audit-notes.ts";
import type { ReceivedBody } from "../http/body/body-reader.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError } from "../http/errors.ts";
import { type HttpApp, withoutBody } from "../http/http-app.ts";
import { formatInstantOrNull } from "../http/instants.ts";
import { callerOf, tenantOfCaller } from "../http/security.ts";
import type { ReceivedJob } from "../submit/job-intake.ts";
import { changeWarnings } from "../submit/job-warnings.ts";
import { payloadOf, refusal, type SubmitDependencies, TraceHeaders } from "../submit/submit-route.ts";
import type { ChangedJob, JobChanger } from "./job-changer.ts";
import type { JobRuns } from "./job-runs.ts";

const IfMatch = Type.Object({
  ...TraceHeaders,
  "if-match": Type.Optional(
    Type.String({
      pattern: '^(\\*|"?[1-9][0-9]{0,8}"?)$',
      description: 'the version that the job is to have, as its ETag says: "3"; * or none: whatever it has',
    }),
  ),
});
const JobParams = Type.Object({ jobId: Uuid("the job") });
const DeleteQuery = Type.Object(
  { cancelRunning: Type.Optional(oneOf(["true", "false"], "also cancel what a worker has; default false")) },
  { additionalProperties: false },
);
const REPLACED = answer(ChangedBody, "The job as it is now; `execution` says what its execution runs by");
const REQUESTED = answer(ChangedBody, "The job is changed; its waiting execution follows in a moment");
const bodyProblems = ["payload-too-large", "unsupported-media-type"] as const;

type IntakeDependencies = Pick<SubmitDependencies, "pools" | "webhooks" | "handlers">;

/** Routes PUT and DELETE /v1/jobs/{jobId}, PUT /v1/jobs/by-name/{name}, POST /v1/executions/{executionId}/retry */
export function changeRoutes(app: HttpApp, changer: JobChanger, intake: IntakeDependencies): void {
  replaceRoute(app, changer, intake);
  namedRoute(app, changer, intake);
  deleteRoute(app, changer);
  retryRoute(app, changer.runs);
}

function replaceRoute(app: HttpApp, changer: JobChanger, intake: IntakeDependencies): void {
  const schema = {
    operationId: "replaceJob",
    tags: ["jobs"],
    summary: "Replace a job's definition: what waits runs by the new one, what a worker has keeps the old one",
    params: JobParams,
    headers: IfMatch,
    body: JobSubmission,
    response: {
      200: REPLACED,
      202: REQUESTED,
      ...problems("not-found", "wrong-state", "name-in-use", "precondition-failed", ...bodyProblems),
    },
  };
  app.put(
    "/v1/jobs/:jobId",
    { schema, bodyLimit: SINGLE_BODY_BYTES_MAX, config: { scope: "jobs:write" } },
    async (request, reply) => {
      const received = await receivedJob(request, intake);
      const ifVersion = versionOf(request.headers["if-match"]);
      const jobId = request.params.jobId.toLowerCase();
      const note = noteOf(request, jobId);
      const changed = await changer.replace(tenantOfCaller(request), jobId, received, ifVersion, note);
      void reply.header("etag", `"${changed.version}"`);
      return reply
        .code(changed.execution === "REQUESTED" ? 202 : 200)
        .send(await changedBody(changed, tenantOfCaller(request), received.job, intake));
    },
  );
}

function namedRoute(app: HttpApp, changer: JobChanger, intake: IntakeDependencies): void {
  const schema = {
    operationId: "putJobByName",
    tags: ["jobs"],
    summary: "Replace the job of this name, or submit it where there is none: a repeat changes nothing",
    params: Type.Object({ name: Line("the job's name") }),
    headers: Type.Object(TraceHeaders),
    body: JobSubmission,
    response: {
      200: REPLACED,
      201: answer(ChangedBody, "Submitted: no job had the name"),
      202: REQUESTED,
      ...problems("wrong-state", ...bodyProblems),
    },
  };
  app.put(
    "/v1/jobs/by-name/:name",
    { schema, bodyLimit: SINGLE_BODY_BYTES_MAX, config: { scope: "jobs:submit" } },
    async (request, reply) => {
      const { name } = request.params;
      const received = await receivedJob(request, intake);
      if ((received.job.name ?? name) !== name) {
        const message = "is not the name in the path: leave it out, or make them the same";
        throw new ProblemError(invalid([{ field: "name", message }]));
      }
      const named = { ...received, job: { ...received.job, name } };
      const changed = await changer.putNamed(tenantOfCaller(request), named, noteOf(request, name));
      void reply.header("etag", `"${changed.version}"`);
      return reply
        .code(statusOf(changed))
        .send(await changedBody(changed, tenantOfCaller(request), { ...received.job, name }, intake));
    },
  );
}

function statusOf({ execution }: ChangedJob): 200 | 201 | 202 {
  if (execution === "CREATED") return 201;
  return execution === "REQUESTED" ? 202 : 200;
}

function deleteRoute(app: HttpApp, changer: JobChanger): void {
  const schema = {
    operationId: "deleteJob",
    tags: ["jobs"],
    summary: "Delete a job: what waits is cancelled, what a worker has runs on; its history stays",
    params: JobParams,
    querystring: DeleteQuery,
    response: {
      204: Type.Null({ description: "Deleted: nothing of it waits any more" }),
      202: answer(DeletedBody, "Deleted; its waiting execution is cancelled in a moment"),
      ...problems("not-found"),
    },
  };
  app.delete("/v1/jobs/:jobId", { schema, config: { scope: "jobs:write" } }, async (request, reply) => {
    refuseBody(request.body);
    const jobId = request.params.jobId.toLowerCase();
    const cancelRunning = request.query.cancelRunning === "true";
    const note = noteOf(request, jobId, { cancelRunning });
    const isOver = await changer.delete(tenantOfCaller(request), jobId, cancelRunning, note);
    if (!isOver) return reply.code(202).send({ jobId, state: "DELETED" as const });
    return reply.code(204).send(null);
  });
}

function retryRoute(app: HttpApp, runs: JobRuns): void {
  const schema = {
    operationId: "retryExecution",
    tags: ["executions"],
    summary: "Run the job of a final execution again, by the definition that it has now",
    params: Type.Object({ executionId: Uuid("the execution") }),
    body: RetryRequest,
    response: {
      201: answer(RetriedBody, "A new execution, with the trigger RETRY"),
      ...problems("not-found", "wrong-state", ...bodyProblems),
    },
  };
  app.post("/v1/executions/:executionId/retry", withoutBody(schema, "runs:control"), async (request, reply) => {
    const retryOf = request.params.executionId.toLowerCase();
    const { keepSteps } = request.body;
    const note = noteOf(request, retryOf);
    const { executionId, jobId } = await runs.retry(tenantOfCaller(request), retryOf, keepSteps, note);
    return reply.code(201).send({ executionId, jobId, retryOf });
  });
}

interface ReceivedRequest extends Pick<FastifyRequest, "principal"> {
  body: JobSubmission;
  received: ReceivedBody | null;
  headers: { traceparent?: string };
}

/** @throws {ProblemError} a fault that the schema cannot express */
async function receivedJob(
  { principal, body: given, received, headers: { traceparent } }: ReceivedRequest,
  deps: IntakeDependencies,
): Promise<ReceivedJob> {
  const payload = payloadOf(received);
  const { tenant } = callerOf({ principal });
  const fill = await deps.handlers.filler();
  const job = await fill(tenant, given, payload);
  if ("status" in job) throw new ProblemError(job);
  // Whether the job still fires is checked later, when the present definition is known.
  const wrong = refusal(tenant, job, payload, 0, deps);
  if (wrong !== null) throw new ProblemError(wrong);
  const declaredKeys = KEYS.filter((key) => given[key] === undefined && job[key] !== undefined);
  return { job, payload, traceparent, declaredKeys };
}

const KEYS = ["concurrencyKey", "uniqueKey"] as const;

function versionOf(ifMatch: string | undefined): number | null {
  return ifMatch === undefined || ifMatch === "*" ? null : Number(ifMatch.replaceAll('"', ""));
}

async function changedBody(
  { jobId, state, version, executionId, fireAt, execution }: ChangedJob,
  tenant: Tenant,
  job: JobSubmission,
  { handlers }: IntakeDependencies,
): Promise<ChangedBody> {
  const changed = execution !== "UNCHANGED";
  const nextFireAt = formatInstantOrNull(fireAt);
  const warnings = await handlers.warnings(tenant, job, changeWarnings(job).warnings);
  return { jobId, state, version, changed, nextFireAt, executionId, execution, ...warnings };
}
