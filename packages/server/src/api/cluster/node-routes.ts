import { HealthBody, pageOf, pageQuery, ReadinessBody, type StatsBody, WorkerBody } from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { WorkerStatus } from "../../ports/messages.ts";
import type { ApiMetrics } from "../../ports/metrics.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import { seesWorkersOf } from "../../security/tenant.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { MissedFound } from "../recurring/missed-watch.ts";
import { workerBody } from "../views.ts";

/** Data about this node. */
export interface About {
  version: string;
  /** Time zone data by which schedules are computed. */
  zones: TimeZoneRules;
  /** Addresses of the node; null: it does not listen there (yet). */
  addresses(): { http: string | null; grpc: string | null };
  /** Load of the connections to the store, by purpose. */
  storeConnections(): StatsBody["store"];
  /** Durability of the store by the settings of the node. */
  durability: StatsBody["durability"];
  /** Whether the node is ready for requests, and if not, why. Never throws. */
  readiness(): Promise<Omit<ReadinessBody, "durability">>;
  /** Result of the search for missed instants; absent: this node does not search. */
  missed?(): MissedFound;
  /** Whether this node is stopping, so that clients should reconnect elsewhere. */
  isStopping?(): boolean;
}

export interface HealthDependencies {
  metrics: ApiMetrics;
  about: Pick<About, "readiness" | "durability">;
}

export interface NodeDependencies extends HealthDependencies {
  workers(): Promise<WorkerStatus[]>;
}

const tags = ["node"];

/** Routes GET /v1/workers, /healthz, /readyz and /metrics */
export function nodeRoutes(app: HttpApp, deps: NodeDependencies): void {
  workersRoute(app, deps);
  healthRoutes(app, deps);
}

function workersRoute(app: HttpApp, { workers }: NodeDependencies): void {
  const schema = {
    operationId: "listWorkers",
    tags,
    summary: "List the workers that are known",
    querystring: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: answer(pageOf("WorkerPage", WorkerBody), "A page, newest connection first"), ...problems() },
  };
  app.get("/v1/workers", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const after = decodeCursor("workers", cursor);
    const tenant = tenantOfCaller(request);
    const all = (await workers()).filter(({ pool }) => seesWorkersOf(tenant, pool));
    const rest = after === null ? all : all.filter((worker) => placeOf(worker) > after);
    const items = rest.slice(0, limit);
    const last = items.at(-1);
    const next = last !== undefined && rest.length > limit ? placeOf(last) : null;
    return { items: items.map(workerBody), nextCursor: encodeCursor("workers", next) };
  });
}

/** Sort key of a worker, which grows along the list and stays valid after its worker has gone. */
function placeOf({ connectedAt, workerId }: WorkerStatus): string {
  return `${String(Number.MAX_SAFE_INTEGER - connectedAt).padStart(16, "0")}:${workerId}`;
}

/** Routes of every node, independent of its roles. */
export function healthRoutes(app: HttpApp, { about, metrics }: HealthDependencies): void {
  app.get(
    "/healthz",
    {
      config: { scope: "public" },
      schema: {
        operationId: "getHealth",
        tags,
        summary: "Whether the process answers; needs no key",
        response: { 200: answer(HealthBody, "It does"), ...problems() },
      },
    },
    () => ({ status: "ok" as const }),
  );
  app.get(
    "/readyz",
    {
      config: { scope: "public" },
      schema: {
        operationId: "getReadiness",
        tags,
        summary: "Whether work should be sent here; needs no key",
        response: { ...problems(), 200: answer(ReadinessBody, "Yes"), 503: answer(ReadinessBody, "No, and why") },
      },
    },
    async (_request, reply) => {
      const { status, checks } = await about.readiness();
      return reply.code(status === "ready" ? 200 : 503).send({ status, durability: about.durability, checks });
    },
  );
  app.get(
    "/metrics",
    {
      config: { scope: "metrics:read" },
      schema: {
        operationId: "getMetrics",
        tags,
        summary: "Figures for Prometheus",
        response: {
          200: { description: "All figures", content: { "text/plain": { schema: Type.String() } } },
          ...problems(),
        },
      },
    },
    async (_request, reply) => {
      const { contentType, body } = await metrics.text();
      return reply.type(contentType).send(body);
    },
  );
}
