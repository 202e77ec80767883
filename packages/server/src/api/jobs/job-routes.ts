import {
  IdPrefix,
  JobBody,
  JobState,
  JobSummaryBody,
  JobType,
  LabelFilter,
  Line,
  pageOf,
  pageQuery,
  Uuid,
  Word,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { type Static, Type } from "typebox";
import type { Runtime } from "../../ports/runtime.ts";
import type { JobFilter } from "../../ports/store-queries.ts";
import type { TenantStore, TenantStores } from "../../security/tenant-stores.ts";
import type { ExecutionReader } from "../executions/execution-reader.ts";
import { noSuch } from "../executions/execution-routes.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { idsWith } from "../http/id-range.ts";
import { tenantOfCaller } from "../http/security.ts";
import { jobBody, jobSummaryBody } from "../views.ts";

const ListQuery = Type.Object(
  {
    state: Type.Optional(JobState),
    pool: Type.Optional(Word("a pool's name")),
    handler: Type.Optional(Word("a handler's name")),
    name: Type.Optional(Line("a job's name")),
    label: LabelFilter,
    type: Type.Optional(JobType),
    idPrefix: IdPrefix,
    ...pageQuery,
  },
  { additionalProperties: false },
);

/** Routes GET /v1/jobs and /v1/jobs/{jobId} */
export function jobRoutes(
  app: HttpApp,
  stores: Pick<TenantStores, "of">,
  reader: ExecutionReader,
  runtime: Runtime,
): void {
  const tags = ["jobs"];

  app.get(
    "/v1/jobs",
    {
      config: { scope: "jobs:read", isShared: true },
      schema: {
        operationId: "listJobs",
        tags,
        summary: "List jobs",
        querystring: ListQuery,
        response: { 200: answer(pageOf("JobPage", JobSummaryBody), "A page, newest first"), ...problems() },
      },
    },
    async (request) => {
      const own = stores.of(tenantOfCaller(request));
      const { items, next } = await own.queries.listJobs(filterOf(own, request.query), {
        after: decodeCursor("jobs", request.query.cursor),
        limit: request.query.limit ?? PAGE_ITEMS_DEFAULT,
      });
      const now = runtime.now();
      return { items: items.map((row) => jobSummaryBody(row, now)), nextCursor: encodeCursor("jobs", next) };
    },
  );

  app.get(
    "/v1/jobs/:jobId",
    {
      config: { scope: "jobs:read" },
      schema: {
        operationId: "getJob",
        tags,
        summary: "Read a job with every default filled in",
        params: Type.Object({ jobId: Uuid("the job") }),
        response: { 200: answer(JobBody, "The job and its newest executions"), ...problems("not-found") },
      },
    },
    async (request, reply) => {
      const view = await stores.of(tenantOfCaller(request)).queries.getJob(request.params.jobId.toLowerCase());
      if (view === null) throw noSuch("job");
      void reply.header("etag", `"${view.version}"`);
      const latestExecutions = await reader.overlay(view.latestExecutions);
      return jobBody({ ...view, latestExecutions }, runtime.now());
    },
  );
}

function filterOf(
  own: TenantStore,
  { state, type, pool, handler, name, label, idPrefix }: Static<typeof ListQuery>,
): JobFilter {
  return {
    ...(state !== undefined && { state }),
    ...(type !== undefined && { type }),
    ...own.inPool(pool),
    ...(handler !== undefined && { handler }),
    ...(name !== undefined && { name }),
    ...(label !== undefined && { labels: label }),
    ...(idPrefix !== undefined && { ids: idsWith(idPrefix) }),
  };
}
