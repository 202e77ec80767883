import {
  ExecutionBody,
  ExecutionSummaryBody,
  executionFilter,
  pageOf,
  pageQuery,
  StepsBody,
  Uuid,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { type Static, Type } from "typebox";
import type { ExecutionId } from "../../domain/ids.ts";
import type { RecordedStep } from "../../domain/step.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Progress } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { ExecutionView } from "../../ports/store-queries.ts";
import type { StoreSteps } from "../../ports/store-steps.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { executionBody, executionSummaryBody, stepsBody } from "../views.ts";
import { filterOf } from "./execution-filter.ts";
import type { ExecutionReader } from "./execution-reader.ts";

const closed = { additionalProperties: false } as const;
const ListQuery = Type.Object({ ...executionFilter, ...pageQuery }, closed);
const WaitQuery = Type.Object(
  { waitSec: Type.Optional(Type.Number({ minimum: 0, maximum: 60, description: "answers early when final" })) },
  closed,
);
const ofExecutions = answer(pageOf("ExecutionPage", ExecutionSummaryBody), "A page, newest first");

interface ExecutionRoutes {
  runtime: Pick<Runtime, "now">;
  reader: ExecutionReader;
  stores: Pick<TenantStores, "of">;
  store: Pick<Store, "steps">;
  progress: (tenant: Tenant, executionId: ExecutionId, attempt: number) => Promise<Progress | null>;
  runs: { nameOf: (tenant: Tenant, run: ExecutionId, node: number) => Promise<string | null> };
}

/** Routes GET /v1/executions, /v1/executions/{executionId} and /v1/jobs/{jobId}/executions */
export function executionRoutes(app: HttpApp, deps: ExecutionRoutes): void {
  const { reader, stores, store, runtime } = deps;
  const list = async (tenant: Tenant, query: Static<typeof ListQuery>, jobId?: string) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT, ...filter } = query;
    const asked = filterOf(stores.of(tenant), jobId === undefined ? filter : { ...filter, jobId }, runtime.now());
    const { items, next } = await reader.list(tenant, asked, { after: decodeCursor("executions", cursor), limit });
    return { items: items.map(executionSummaryBody), nextCursor: encodeCursor("executions", next) };
  };
  const tags = ["executions"];

  app.get(
    "/v1/executions",
    {
      config: { scope: "jobs:read", isShared: true },
      schema: {
        operationId: "listExecutions",
        tags,
        summary: "List executions",
        querystring: ListQuery,
        response: { 200: ofExecutions, ...problems() },
      },
    },
    (request) => list(tenantOfCaller(request), request.query),
  );

  app.get(
    "/v1/jobs/:jobId/executions",
    {
      config: { scope: "jobs:read" },
      schema: {
        operationId: "listJobExecutions",
        tags,
        summary: "List a job's executions",
        params: Type.Object({ jobId: Uuid("the job") }),
        querystring: ListQuery,
        response: { 200: ofExecutions, ...problems("not-found") },
      },
    },
    async (request) => {
      const jobId = request.params.jobId.toLowerCase();
      const tenant = tenantOfCaller(request);
      const page = await list(tenant, request.query, jobId);
      // An empty page means that the executions were deleted, or that there is no such job.
      if (page.items.length === 0 && (await stores.of(tenant).queries.getJob(jobId)) === null) throw noSuch("job");
      return page;
    },
  );

  readRoute(app, deps);
  stepsRoute(app, reader, store.steps);
}

function readRoute(app: HttpApp, { reader, store, progress: progressOf, runs }: ExecutionRoutes): void {
  app.get(
    "/v1/executions/:executionId",
    {
      config: { scope: "jobs:read" },
      schema: {
        operationId: "getExecution",
        tags: ["executions"],
        summary: "Read an execution; with waitSec, wait for it to be final",
        params: Type.Object({ executionId: Uuid("the execution") }),
        querystring: WaitQuery,
        response: { 200: answer(ExecutionBody, "The execution as it is now"), ...problems("not-found") },
      },
    },
    async (request, reply) => {
      const { waitSec = 0 } = request.query;
      const gone = new AbortController();
      if (waitSec > 0) reply.raw.once("close", () => gone.abort());
      const id = request.params.executionId.toLowerCase();
      const tenant = tenantOfCaller(request);
      const waited = waitSec > 0 ? reader.readFinal(tenant, id, waitSec * 1_000, gone.signal) : reader.read(tenant, id);
      const view = await waited;
      if (view === null) throw noSuch("execution");
      const progress = view.state === "RUNNING" ? await progressOf(tenant, id, view.attempt) : null;
      const node = view.ofRun === undefined ? null : await runs.nameOf(tenant, view.ofRun.run, view.ofRun.node);
      return executionBody(view, progress, await recordsOf(store.steps, view), node);
    },
  );
}

function stepsRoute(app: HttpApp, reader: ExecutionReader, steps: StoreSteps): void {
  const schema = {
    operationId: "getExecutionSteps",
    tags: ["executions"],
    summary: "Durable steps of an execution, with their values, its waits and its signals",
    params: Type.Object({ executionId: Uuid("the execution") }),
    response: { 200: answer(StepsBody, "The records of all attempts so far"), ...problems("not-found") },
  };
  app.get("/v1/executions/:executionId/steps", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const id = request.params.executionId.toLowerCase();
    const view = await reader.read(tenantOfCaller(request), id);
    if (view === null) throw noSuch("execution");
    const signals = (await steps.readSignals([id])).get(id) ?? [];
    return stepsBody(id, await recordsOf(steps, view), signals);
  });
}

async function recordsOf(steps: StoreSteps, { executionId, hasSteps }: ExecutionView): Promise<RecordedStep[]> {
  if (!hasSteps) return [];
  return (await steps.read([executionId])).get(executionId) ?? [];
}

export function noSuch(what: "job" | "execution"): ProblemError {
  return new ProblemError(problem("not-found", `there is no such ${what}, or it is so old that it was dropped`));
}
