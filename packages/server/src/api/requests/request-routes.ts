import {
  pageOf,
  pageQuery,
  RequestBody,
  RequestId,
  RequestSource,
  type RequestSummaryBody,
  RequestState as StateSchema,
  RequestSummaryBody as SummarySchema,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { EpochMs } from "../../domain/ids.ts";
import { parsePosition, positionText, type RecordPosition } from "../../domain/ingest.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { IngestRecord, RefusedPlace, StoreIngest } from "../../ports/store-ingest.ts";
import type { RequestSummary } from "../../ports/store-requests.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { rawOrNull } from "../http/body/raw-json.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, type Problem, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstantOrNull } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";

const tags = ["requests"];
const REFUSED_ONLY = "must be REFUSED with source=KAFKA, because no list has the other records of Kafka";

interface RequestRoutesDependencies {
  stores: Pick<TenantStores, "of">;
  ingest: Pick<StoreIngest, "get" | "refused" | "positions">;
  /** Tenant of the topic of requests now. */
  topicTenant: () => Tenant;
  /** Whether the node writes jobs into the log of requests. */
  hasLog: boolean;
}

/** Routes GET /v1/requests and GET /v1/requests/{requestId} */
export function requestRoutes(app: HttpApp, { stores, ingest, topicTenant, hasLog }: RequestRoutesDependencies): void {
  const listSchema = {
    operationId: "listRequests",
    tags,
    summary: "List requests of transactions, or records of Kafka that were refused",
    querystring: Type.Object(
      { source: Type.Optional(RequestSource), state: Type.Optional(StateSchema), ...pageQuery },
      { additionalProperties: false },
    ),
    response: {
      200: answer(pageOf("JobRequestPage", SummarySchema), "A page, newest first"),
      ...problems("query-unserved"),
    },
  };
  app.get("/v1/requests", { schema: listSchema, config: { scope: "jobs:read" } }, async (request) => {
    const { source = "SQL", state = null, cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    if (source === "KAFKA") {
      if (state !== "REFUSED") throw new ProblemError(invalid([{ field: "state", message: REFUSED_ONLY }]));
      return await refusedRecords(tenantOfCaller(request) === topicTenant() ? ingest : null, cursor, limit);
    }
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
    response: { 200: answer(RequestBody, "The request"), ...problems("not-found", "query-unserved") },
  };
  app.get("/v1/requests/:requestId", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const tenant = tenantOfCaller(request);
    const position = parsePosition(request.params.requestId);
    if (position !== null) {
      const own = tenant === topicTenant() ? ingest : null;
      const found = (await own?.get(position)) ?? null;
      const isNew = found === null && hasLog && own !== null && (await isUnopened(position, own));
      return recordBody(position, isNew ? UNDECIDED : found);
    }
    const found = await stores.of(tenant).requests.get(request.params.requestId.toLowerCase());
    if (found === null) {
      const detail =
        "there is no such request: its transaction has not committed, or it was taken in more than a day ago";
      throw new ProblemError(problem("not-found", detail));
    }
    return { ...summaryBody(found), job: rawOrNull(found.body === null ? null : Buffer.from(found.body)) };
  });
}

/** @param ingest null: the topic is that of another tenant */
async function refusedRecords(ingest: Pick<StoreIngest, "refused"> | null, cursor: string | undefined, limit: number) {
  const after = decodeCursor("refused-records", cursor);
  const found = (await ingest?.refused(after === null ? null : placeOf(after), limit)) ?? [];
  const items = found.map(({ partition, offset, createdAt, refusedAt, problem }) => {
    const end = { state: "REFUSED" as const, problem };
    const id = positionText({ partition, offset });
    return summaryBody({ id, createdAt, finishedAt: refusedAt, end, idempotencyKey: null }, "KAFKA");
  });
  const last = items.length < limit ? undefined : found.at(-1);
  const next = last === undefined ? null : `${last.refusedAt} ${positionText(last)}`;
  return { items, nextCursor: encodeCursor("refused-records", next) };
}

function placeOf(cursor: string): RefusedPlace | null {
  const [refusedAt = "", position = ""] = cursor.split(" ");
  const at = parsePosition(position);
  return at === null ? null : { ...at, refusedAt: Number(refusedAt) };
}

/** A record that no node has read yet. */
const UNDECIDED: IngestRecord = { createdAt: null, finishedAt: null, end: null };

/** Whether no node has begun to read the partition, as for a moment after the first start of a cluster. */
async function isUnopened({ partition }: RecordPosition, ingest: Pick<StoreIngest, "positions">): Promise<boolean> {
  return !(await ingest.positions()).some((known) => known.partition === partition);
}

/** @throws {ProblemError} 404 */
function recordBody(position: RecordPosition, found: IngestRecord | null) {
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
