import {
  ExecutionCountBody,
  type ExecutionFilter,
  ExecutionRunBody,
  ExecutionRunRequest,
  executionFilter,
  pageOf,
  pageQuery,
  Uuid,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecutionRun } from "../../ports/store-execution-runs.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { IdempotencyHeaders } from "../submit/submit-route.ts";
import { filterOf } from "./execution-filter.ts";
import { type ExecutionRunDependencies, ExecutionRuns } from "./execution-runs.ts";

const tags = ["executions"];
const closed = { additionalProperties: false } as const;
const bodyProblems = ["unsupported-media-type", "payload-too-large"] as const;

interface RunRoutes {
  stores: Pick<TenantStores, "of">;
  runtime: Pick<Runtime, "now">;
  runs: ExecutionRuns;
}

/** Routes GET /v1/execution-count, POST and GET /v1/execution-runs, and those of one run. The application carries out stored runs while it is open. */
export function executionRunRoutes(app: HttpApp, dependencies: ExecutionRunDependencies): void {
  const runs = new ExecutionRuns(dependencies);
  app.addHook("onReady", async () => runs.start());
  app.addHook("preClose", async () => runs.close());
  const deps = { ...dependencies, runs };
  countRoute(app, deps);
  previewRoute(app, deps);
  createRoute(app, deps);
  listRoute(app, deps);
  readRoute(app, deps);
  stopRoute(app, deps);
}

function countRoute(app: HttpApp, { stores, runtime }: RunRoutes): void {
  const schema = {
    operationId: "countExecutions",
    tags,
    summary: "Count the executions that a list would show, up to 10,000",
    querystring: Type.Object({ ...executionFilter, jobId: Type.Optional(Uuid("a job")) }, closed),
    response: {
      200: answer(
        ExecutionCountBody,
        "The count. It reads rows, which are about a second behind the executions, and in which SCHEDULED is still PENDING",
      ),
      ...problems(),
    },
  };
  app.get("/v1/execution-count", { schema, config: { scope: "jobs:read", isShared: true } }, (request) => {
    const own = stores.of(tenantOfCaller(request));
    return own.queries.countListed(filterOf(own, request.query, runtime.now()));
  });
}

function previewRoute(app: HttpApp, { runs }: RunRoutes): void {
  const schema = {
    operationId: "previewExecutionRun",
    tags,
    summary: "Count the executions that a run would cancel or retry, up to 10,000, and change nothing",
    body: ExecutionRunRequest,
    response: { 200: answer(ExecutionCountBody, "The count"), ...problems(...bodyProblems) },
  };
  app.post("/v1/execution-runs/preview", { schema, config: { scope: "jobs:read" } }, (request) =>
    runs.preview(tenantOfCaller(request), request.body),
  );
}

function createRoute(app: HttpApp, { runs }: RunRoutes): void {
  const schema = {
    operationId: "createExecutionRun",
    tags,
    summary: "Cancel or retry all executions that match a filter",
    headers: IdempotencyHeaders,
    body: ExecutionRunRequest,
    response: {
      202: answer(
        ExecutionRunBody,
        "A run, which the servers continue in the background; `Location` is the address of its progress. A repeat by Idempotency-Key has the header Idempotent-Replayed: true.",
      ),
      ...problems("idempotency-key-reused", ...bodyProblems),
    },
  };
  app.post("/v1/execution-runs", { schema, config: { scope: "runs:control" } }, async (request, reply) => {
    const { action, filter } = request.body;
    const note = noteOf(request, null, { action, filter: Object.keys(filter) });
    const key = request.headers["idempotency-key"] ?? null;
    const { kind, run } = await runs.begin(tenantOfCaller(request), request.body, key, note);
    if (kind === "KNOWN") reply.header("idempotent-replayed", "true");
    return reply.code(202).header("location", `/v1/execution-runs/${run.runId}`).send(runBody(run));
  });
}

function listRoute(app: HttpApp, { stores }: RunRoutes): void {
  const schema = {
    operationId: "listExecutionRuns",
    tags,
    summary: "List runs over executions; each is kept for 7 days after its end",
    querystring: Type.Object(pageQuery, closed),
    response: { 200: answer(pageOf("ExecutionRunPage", ExecutionRunBody), "A page, newest first"), ...problems() },
  };
  app.get("/v1/execution-runs", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const page = { after: decodeCursor("execution-runs", cursor), limit };
    const { items, next } = await stores.of(tenantOfCaller(request)).executionRuns.list(page);
    return { items: items.map(runBody), nextCursor: encodeCursor("execution-runs", next) };
  });
}

function readRoute(app: HttpApp, { stores }: RunRoutes): void {
  const schema = {
    operationId: "getExecutionRun",
    tags,
    summary: "How far a run over executions is; kept for 7 days after its end",
    params: Type.Object({ runId: Uuid("the run") }),
    response: { 200: answer(ExecutionRunBody, "As it is now"), ...problems("not-found") },
  };
  app.get("/v1/execution-runs/:runId", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const own = stores.of(tenantOfCaller(request));
    return known(await own.executionRuns.get(request.params.runId.toLowerCase()));
  });
}

function stopRoute(app: HttpApp, { stores, runtime }: RunRoutes): void {
  const schema = {
    operationId: "stopExecutionRun",
    tags,
    summary: "End a run over executions before its time; a chunk of up to 100 executions in hand is still finished",
    params: Type.Object({ runId: Uuid("the run") }),
    response: {
      200: answer(ExecutionRunBody, "As it is now; a run that has ended stays as it is"),
      ...problems("not-found"),
    },
  };
  app.post("/v1/execution-runs/:runId/stop", { schema, config: { scope: "runs:control" } }, async (request) => {
    refuseBody(request.body);
    const runId = request.params.runId.toLowerCase();
    const own = stores.of(tenantOfCaller(request));
    return known(await own.executionRuns.stop(runId, runtime.now(), noteOf(request, runId)));
  });
}

/** @throws {ProblemError} 404: there is no such run */
function known(run: ExecutionRun | null): ExecutionRunBody {
  if (run !== null) return runBody(run);
  throw new ProblemError(problem("not-found", "there is no such run, or it was over more than 7 days ago"));
}

function runBody({ runId, action, filter, expected, done, refusals, isStopped, createdAt, finishedAt }: ExecutionRun) {
  const ended = isStopped ? ("STOPPED" as const) : ("FINISHED" as const);
  return {
    ...{ runId, action, expected, done, refusals },
    filter: JSON.parse(filter) as ExecutionFilter,
    state: finishedAt === null ? ("RUNNING" as const) : ended,
    refused: Object.values(refusals).reduce((sum, count) => sum + count, 0),
    createdAt: formatInstant(createdAt),
    finishedAt: formatInstantOrNull(finishedAt),
  };
}
