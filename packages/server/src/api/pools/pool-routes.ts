import { ChangedPoolBody, PoolBody, PoolSettings, pageOf, pageQuery, Word } from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { PoolChange } from "../../domain/pool.ts";
import { defaultPool, isLimited, type Pool } from "../../domain/pool.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { PoolUse, WorkerStatus } from "../../ports/messages.ts";
import type { Store } from "../../ports/store.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { PoolChanger } from "./pool-changer.ts";

/** Largest number of pools with settings, because owners read all of them every second. */
const POOLS_MAX = 1_000;
const tags = ["pools"];
const params = Type.Object({ name: Word("the pool") });

interface PoolDependencies {
  stores: Pick<TenantStores, "of">;
  store: Pick<Store, "readPools">;
  changer: PoolChanger;
  workers(): Promise<WorkerStatus[]>;
  /** Use of the limits, for pools that have some. */
  uses(): Promise<PoolUse[]>;
  /** Whether a tenant may use a pool. Other pools are not shown to it. */
  allows: (tenant: Tenant, pool: string) => boolean;
  lacking?: Lacking | undefined;
}

/** Routes GET /v1/pools, GET and PUT /v1/pools/{name} */
export function poolRoutes(app: HttpApp, deps: PoolDependencies): void {
  listRoute(app, deps);
  readRoute(app, deps);
  putRoute(app, deps);
}

function listRoute(app: HttpApp, deps: PoolDependencies): void {
  const schema = {
    operationId: "listPools",
    tags,
    summary: "List the pools that have settings or workers",
    querystring: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: answer(pageOf("PoolPage", PoolBody), "A page, by name"), ...problems() },
  };
  app.get("/v1/pools", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const after = decodeCursor("pools", cursor);
    const [pools, living] = await Promise.all([deps.store.readPools(), livingWorkers(deps)]);
    const known = new Map(living.map(({ pool }) => [pool, defaultPool(pool)]));
    for (const pool of pools) known.set(pool.name, pool);
    const tenant = tenantOfCaller(request);
    const shown = [...known.values()].filter(({ name }) => deps.allows(tenant, name));
    const rest = shown.filter(({ name }) => after === null || name > after);
    rest.sort((a, b) => (a.name < b.name ? -1 : 1));
    const items = rest.slice(0, limit);
    const next = rest.length > limit ? (items.at(-1)?.name ?? null) : null;
    return { items: await poolBodies(deps, items, living), nextCursor: encodeCursor("pools", next) };
  });
}

function readRoute(app: HttpApp, deps: PoolDependencies): void {
  const schema = {
    operationId: "getPool",
    tags,
    summary: "Read a pool; one that nobody has set up has the defaults",
    params,
    response: { 200: answer(PoolBody, "Its settings and who serves it"), ...problems() },
  };
  app.get("/v1/pools/:name", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const { name } = request.params;
    if (!deps.allows(tenantOfCaller(request), name)) return bodyOf(deps, defaultPool(name), []);
    const [pools, living] = await Promise.all([deps.store.readPools(), livingWorkers(deps)]);
    return bodyOf(deps, pools.find((pool) => pool.name === name) ?? defaultPool(name), living);
  });
}

function putRoute(app: HttpApp, deps: PoolDependencies): void {
  const { store, changer } = deps;
  const schema = {
    operationId: "putPool",
    tags,
    summary: "Pause, resume or set up a pool; what is left out stays as it is",
    params,
    body: PoolSettings,
    response: {
      200: answer(
        ChangedPoolBody,
        "As it is now, on every server: nothing more of a paused pool is assigned. Attempts that were assigned before run on, and work that is ready keeps its place when the strategy changes.",
      ),
      202: answer(
        ChangedPoolBody,
        "It is written, and some servers have not confirmed it: `unconfirmedBy` names them. They follow within a second or two once they can reach the store. Repeating the request asks them again.",
      ),
      ...problems("wrong-state", "unsupported-media-type", "payload-too-large"),
    },
  };
  app.put("/v1/pools/:name", { schema, config: { scope: "system:admin" } }, async (request, reply) => {
    const { name } = request.params;
    if (hasLimit(request.body)) requireFeature("POOL_LIMITS", deps.lacking);
    await refuseTooMany(store, name);
    const warnings = await warningsOf(deps, tenantOfCaller(request), name);
    const { pool, unconfirmedBy } = await changer.put(changeOf(name, request.body), noteOf(request, name));
    const body = { ...(await bodyOf(deps, pool, await livingWorkers(deps))), ...warnings };
    return reply.code(unconfirmedBy.length === 0 ? 200 : 202).send({ ...body, unconfirmedBy });
  });
}

/** Whether settings have a limit. Removing a limit is always possible. */
function hasLimit({ maxRunning, ratePerSec }: PoolSettings): boolean {
  return maxRunning != null || ratePerSec != null;
}

async function refuseTooMany(store: PoolDependencies["store"], name: string): Promise<void> {
  const pools = await store.readPools();
  if (pools.length < POOLS_MAX || pools.some((pool) => pool.name === name)) return;
  throw new ProblemError(problem("wrong-state", `${POOLS_MAX} pools have settings of their own: use one of them`));
}

/**
 * Warnings before the change, because the change itself makes the pool known. Settings may precede workers and jobs, so
 * an unknown pool is not refused.
 */
async function warningsOf(deps: PoolDependencies, tenant: Tenant, name: string): Promise<{ warnings?: string[] }> {
  const [pools, living] = await Promise.all([deps.store.readPools(), livingWorkers(deps)]);
  if ([...pools.map((pool) => pool.name), ...living.map(({ pool }) => pool)].includes(name)) return {};
  const { items } = await deps.stores.of(tenant).queries.listJobs({ pool: name }, { limit: 1, after: null });
  if (items.length > 0) return {};
  return {
    warnings: [
      `the pool "${name}" was not known before: it has no workers, no jobs and no settings. Is its name right?`,
    ],
  };
}

function changeOf(name: string, settings: PoolSettings): PoolChange {
  const { paused, strategy, priorityStepSec, placement, maxRunning, ratePerSec } = settings;
  return {
    name,
    ...(paused !== undefined && { paused }),
    ...(strategy !== undefined && { order: strategy }),
    ...(priorityStepSec !== undefined && { priorityStepMs: Math.round(priorityStepSec * 1_000) }),
    ...(placement !== undefined && { placement }),
    ...(maxRunning !== undefined && { maxRunning }),
    ...(ratePerSec !== undefined && { ratePerSec }),
  };
}

async function livingWorkers({ workers }: PoolDependencies): Promise<WorkerStatus[]> {
  return (await workers()).filter(({ state }) => state !== "DEAD");
}

async function bodyOf(deps: PoolDependencies, pool: Pool, living: readonly WorkerStatus[]): Promise<PoolBody> {
  const [body] = await poolBodies(deps, [pool], living);
  return body as PoolBody;
}

async function poolBodies(
  deps: PoolDependencies,
  pools: readonly Pool[],
  living: readonly WorkerStatus[],
): Promise<PoolBody[]> {
  const uses = pools.some(isLimited) ? await deps.uses() : [];
  return pools.map((pool) => poolBody(pool, living, uses.find((use) => use.pool === pool.name) ?? null));
}

function poolBody(pool: Pool, living: readonly WorkerStatus[], use: PoolUse | null): PoolBody {
  const { name, paused, order, priorityStepMs, placement, maxRunning, ratePerSec } = pool;
  const serving = living.filter(({ pool }) => pool === name);
  return {
    ...{ name, paused, strategy: order, priorityStepSec: priorityStepMs / 1_000, placement, maxRunning, ratePerSec },
    workers: serving.length,
    slots: serving.reduce((sum, { slots }) => sum + slots, 0),
    running: serving.reduce((sum, { running }) => sum + running, 0),
    limitUse: isLimited(pool) && use !== null ? useBody(use) : null,
  };
}

function useBody({ taken, nextStartAt }: PoolUse): PoolBody["limitUse"] {
  return { taken, nextStartAt: nextStartAt === null ? null : formatInstant(nextStartAt) };
}
