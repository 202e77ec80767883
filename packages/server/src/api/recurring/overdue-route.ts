import { OverdueBody } from "@mainspring/contract";
import { Type } from "typebox";
import type { Runtime } from "../../ports/runtime.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";

const LIMIT_DEFAULT = 100;
const querystring = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "how many at most; default 100" })) },
  { additionalProperties: false },
);

/** Route GET /v1/overdue-jobs */
export function overdueRoute(app: HttpApp, queries: Pick<StoreQueries, "overdue">, runtime: Runtime): void {
  const schema = {
    operationId: "listOverdueJobs",
    tags: ["jobs"],
    summary: "Recurring jobs with a planned instant that nothing has accounted for, later than their misfireGraceSec",
    querystring,
    response: { 200: answer(OverdueBody, "None, where the scheduler keeps up"), ...problems() },
  };
  app.get("/v1/overdue-jobs", { schema, config: { scope: "jobs:read" } }, async ({ query }) => {
    const now = runtime.now();
    const found = await queries.overdue(now, query.limit ?? LIMIT_DEFAULT);
    const items = found.map(({ jobId, name, nextFireAt }) => {
      return { jobId, name, nextFireAt: formatInstant(nextFireAt), overdueMs: Math.floor(now - nextFireAt) };
    });
    return { items };
  });
}
