import {
  pageOf,
  pageQuery,
  RequestBody,
  RequestId,
  type RequestSummaryBody,
  RequestState as StateSchema,
  RequestSummaryBody as SummarySchema,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { EpochMs } from "../../domain/ids.ts";
import { parsePosition, positionText, type RecordPosition } from "../../domain/ingest.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { StoreIngest } from "../../ports/store-ingest.ts";
import type { RequestSummary } from "../../ports/store-requests.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { rawOrNull } from "../http/body/raw-json.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { type Problem, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstantOrNull } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";

const tags = ["requests"];

/** Routes GET /v1/requests and GET /v1/requests/{requestId} */
export function requestRoutes(
  app: HttpApp,
  stores: Pick<TenantStores, "of">,
  ingest: Pick<StoreIngest, "get">,
  topicTenant: () => Tenant,
): void {
  const listSchema = {
    operationId: "listRequests",
    tags,
    summary: "List requests for jobs that applications wrote in transactions of their own",
    querystring: Type.Object({ state: Type.Optional(StateSchema), ...pageQuery }, { additionalProperties: false }),
    response: { 200: answer(pageOf("JobRequestPage", SummarySchema), "A page, newest first"), ...problems() },
  };
  app.get("/v1/requests", { schema: listSchema, config: { scope: "jobs:read" } }, async (request) => {
    const { state = null, cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const before = decodeCursor("requests", cursor);
    const items = await stores.of(tenantOfCaller(request)).requests.list({ state, before, limit });
    const next = items.length < limit ? null : (items.at(-1)?.id ?? null);
    return { items: items.map((item) => summaryBody(item)), nextCursor: encodeCursor("requests", next) };
  });
  const schema = {
    operationId: "getRequest",
    tags,
    summary: "Read the state of a request",
    params: Type.Object({ requestId: RequestId }),
    response: { 200: answer(RequestBody, "The request"), ...problems("not-found") },
  };
  app.get("/v1/requests/:requestId", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const tenant = tenantOfCaller(request);
    const position = parsePosition(request.params.requestId);
    if (position !== null) return await recordBody(position, tenant === topicTenant() ? ingest : null);
    const found = await stores.of(tenant).requests.get(request.params.requestId.toLowerCase());
    if (found === null) {
      const detail =
        "there is no such request: its transaction has not committed, or it was taken in more than a day ago";
      throw new ProblemError(problem("not-found", detail));
    }
    return { ...summaryBody(found), job: rawOrNull(found.body === null ? null : Buffer.from(found.body)) };
  });
}

/** @param ingest null: the topic is that of another tenant. @throws {ProblemError} 404 */
async function recordBody(position: RecordPosition, ingest: Pick<StoreIngest, "get"> | null) {
  const found = (await ingest?.get(position)) ?? null;
  if (found === null) {
    const detail =
      "nothing is known of a record at this position: there is none, or it was decided longer ago than executions are kept";
    throw new ProblemError(problem("not-found", detail));
  }
  const summary = { id: positionText(position), ...found, idempotencyKey: null };
  return { ...summaryBody(summary, "KAFKA"), job: null };
}

type Shown = Omit<RequestSummary, "createdAt"> & { createdAt: EpochMs | null };

function summaryBody(
  { id, createdAt, finishedAt, end, idempotencyKey }: Shown,
  source: RequestSummaryBody["source"] = "SQL",
): RequestSummaryBody {
  const taken = end?.state === "TAKEN_IN" ? end : null;
  return {
    requestId: id,
    source,
    state: end?.state ?? "ACCEPTED",
    createdAt: formatInstantOrNull(createdAt),
    finishedAt: formatInstantOrNull(finishedAt),
    jobId: taken?.jobId ?? null,
    executionId: taken?.executionId ?? null,
    deduplicated: taken?.deduplicated ?? false,
    idempotencyKey,
    problem: end?.state === "REFUSED" ? (JSON.parse(end.problem) as Problem) : null,
  };
}
