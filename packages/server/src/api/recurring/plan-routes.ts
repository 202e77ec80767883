import { BackfillBody, BackfillRequest, PlanBody, ResumeRequest, TriggeredBody, Uuid } from "@mainspring/contract";
import { Type } from "typebox";
import type { Runtime } from "../../ports/runtime.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import { type FieldError, invalid, ProblemError } from "../http/errors.ts";
import { type HttpApp, withoutBody } from "../http/http-app.ts";
import { formatInstant, parseInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { JobRuns } from "../jobs/job-runs.ts";
import type { Backfill, JobPlans } from "./job-plans.ts";
import { planBody } from "./plan-views.ts";

const tags = ["jobs"];
const params = Type.Object({ jobId: Uuid("the recurring job") });
const REQUESTED = "Its owner has not answered yet, and obeys in a moment";
const bodyProblems = ["payload-too-large", "unsupported-media-type"] as const;

/** Routes POST /v1/jobs/{jobId}/pause, resume, trigger and backfill */
export function planRoutes(app: HttpApp, plans: JobPlans, runs: JobRuns, runtime: Runtime): void {
  pauseRoute(app, plans);
  resumeRoute(app, plans);
  triggerRoute(app, runs);
  backfillRoute(app, plans, runtime);
}

function pauseRoute(app: HttpApp, plans: JobPlans): void {
  const schema = {
    operationId: "pauseJob",
    tags,
    summary: "Pause a recurring job: it does not fire until it is resumed; what has fired runs on",
    params,
    response: {
      200: answer(PlanBody, "It is PAUSED"),
      202: answer(PlanBody, REQUESTED),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post("/v1/jobs/:jobId/pause", { schema, config: { scope: "jobs:write" } }, async (request, reply) => {
    refuseBody(request.body);
    const jobId = request.params.jobId.toLowerCase();
    const { job, isDone } = await plans.pause(tenantOfCaller(request), jobId, noteOf(request, jobId));
    return reply.code(isDone ? 200 : 202).send(planBody(job));
  });
}

function resumeRoute(app: HttpApp, plans: JobPlans): void {
  const schema = {
    operationId: "resumeJob",
    tags,
    summary: "Resume a recurring job: what fell into the pause is skipped, or treated as misfired",
    params,
    body: ResumeRequest,
    response: {
      200: answer(PlanBody, "It is ACTIVE"),
      202: answer(PlanBody, REQUESTED),
      ...problems("not-found", "wrong-state", ...bodyProblems),
    },
  };
  app.post("/v1/jobs/:jobId/resume", withoutBody(schema, "jobs:write"), async (request, reply) => {
    const { catchUp = false } = request.body;
    const id = request.params.jobId.toLowerCase();
    const note = noteOf(request, id, { catchUp });
    const { job, isDone } = await plans.resume(tenantOfCaller(request), id, catchUp, note);
    return reply.code(isDone ? 200 : 202).send(planBody(job));
  });
}

function triggerRoute(app: HttpApp, runs: JobRuns): void {
  const schema = {
    operationId: "triggerJob",
    tags,
    summary: "Run a recurring job now, whatever it has planned, also while it is paused",
    params,
    response: {
      201: answer(TriggeredBody, "A new execution, with the trigger MANUAL"),
      ...problems("not-found", "wrong-state"),
    },
  };
  app.post("/v1/jobs/:jobId/trigger", { schema, config: { scope: "jobs:write" } }, async (request, reply) => {
    refuseBody(request.body);
    const id = request.params.jobId.toLowerCase();
    const { executionId, jobId } = await runs.trigger(tenantOfCaller(request), id, noteOf(request, id));
    return reply.code(201).send({ executionId, jobId });
  });
}

function backfillRoute(app: HttpApp, plans: JobPlans, runtime: Runtime): void {
  const schema = {
    operationId: "backfillJob",
    tags,
    summary: "Run a recurring job for planned instants of the past that have not run, so many at once",
    params,
    body: BackfillRequest,
    response: {
      200: answer(BackfillBody, "It goes on by itself; `catchUps` of the job says how far it is"),
      202: answer(BackfillBody, REQUESTED),
      ...problems("not-found", "wrong-state", "backfill-open", ...bodyProblems),
    },
  };
  app.post("/v1/jobs/:jobId/backfill", { schema, config: { scope: "jobs:write" } }, async (request, reply) => {
    const asked = backfillOf(request.body, runtime);
    const jobId = request.params.jobId.toLowerCase();
    const note = noteOf(request, jobId, { ...asked });
    const { job, isDone, planned } = await plans.backfill(tenantOfCaller(request), jobId, asked, note);
    const [since, until] = [formatInstant(asked.since), formatInstant(asked.until)];
    const body = { ...planBody(job), backfill: { since, until, maxRunning: asked.limit, planned } };
    return reply.code(isDone ? 200 : 202).send(body);
  });
}

function backfillOf(body: BackfillRequest, runtime: Runtime): Backfill {
  const now = runtime.now();
  // The schema has accepted these texts.
  const since = parseInstant(body.since) as number;
  const until = body.until === undefined ? now : (parseInstant(body.until) as number);
  const errors: FieldError[] = [];
  if (since >= until) errors.push({ field: "since", message: "must be earlier than until, which is now by default" });
  if (until > now)
    errors.push({ field: "until", message: "must not lie in the future: what is to come fires by itself" });
  if (errors.length > 0) throw new ProblemError(invalid(errors));
  return { since, until, limit: body.maxRunning ?? 1 };
}
