import { OverdueBody } from "@mainspring/contract";
import { Type } from "typebox";
import type { Runtime } from "../../ports/runtime.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";

const LIMIT_DEFAULT = 100;
const querystring = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "how many at most; default 100" })) },
  { additionalProperties: false },
);

/** Route GET /v1/overdue-jobs */
export function overdueRoute(app: HttpApp, stores: Pick<TenantStores, "of">, runtime: Runtime): void {
  const schema = {
    operationId: "listOverdueJobs",
    tags: ["jobs"],
    summary: "Recurring jobs with a planned instant that nothing has accounted for, later than their misfireGraceSec",
    querystring,
    response: { 200: answer(OverdueBody, "None, where the scheduler keeps up"), ...problems() },
  };
  app.get("/v1/overdue-jobs", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const now = runtime.now();
    const found = await stores.of(tenantOfCaller(request)).queries.overdue(now, request.query.limit ?? LIMIT_DEFAULT);
    const items = found.map(({ jobId, name, nextFireAt }) => {
      return { jobId, name, nextFireAt: formatInstant(nextFireAt), overdueMs: Math.floor(now - nextFireAt) };
    });
    return { items };
  });
}
