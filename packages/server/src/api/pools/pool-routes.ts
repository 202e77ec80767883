import { ChangedPoolBody, PoolBody, PoolSettings, pageOf, pageQuery, Word } from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { PoolChange } from "../../domain/pool.ts";
import { defaultPool, isLimited, ownedPool, ownerOfPool, type Pool, shownPool } from "../../domain/pool.ts";
import type { Authenticator, Principal, Tenant } from "../../ports/authenticator.ts";
import type { PoolUse, WorkerStatus } from "../../ports/messages.ts";
import type { Store } from "../../ports/store.ts";
import { isOfOperators } from "../../security/tenant.ts";
import type { PoolOf } from "../../security/tenant-ring.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { demandOperator } from "../cluster/worker-routes.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { callerOf, tenantOfCaller } from "../http/security.ts";
import type { PoolChanger } from "./pool-changer.ts";

/** Largest number of shared pools with settings, and of pools that tenants own, because owners read all of them every second. */
const POOLS_MAX = 1_000;
/** Largest number of pools that a tenant owns. */
const OWNED_POOLS_MAX = 20;
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
  /** Stored name of the pool that a tenant means by a name. */
  poolOf: PoolOf;
  /** The caller, as one who acts for a tenant; null: there is no such tenant. */
  actingFor: Authenticator["actingFor"];
  /** Makes every node read the pools of tenants. */
  tellPools: () => Promise<void>;
  lacking?: Lacking | undefined;
}

/** Whether a tenant means the pool by its name, which it may have given to a pool of its own, too. */
function isMeant({ poolOf }: PoolDependencies, tenant: Tenant, pool: string): boolean {
  return poolOf(tenant, shownPool(pool)) === pool;
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
  app.get("/v1/pools", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const after = decodeCursor("pools", cursor);
    const [pools, living] = await Promise.all([deps.store.readPools(), livingWorkers(deps)]);
    const known = new Map(living.map(({ pool }) => [pool, defaultPool(pool)]));
    for (const pool of pools) known.set(pool.name, pool);
    const tenant = tenantOfCaller(request);
    const shown = [...known.values()].filter(({ name }) => deps.allows(tenant, name) && isMeant(deps, tenant, name));
    const rest = shown.filter(({ name }) => after === null || shownPool(name) > after);
    rest.sort((a, b) => (shownPool(a.name) < shownPool(b.name) ? -1 : 1));
    const items = rest.slice(0, limit);
    const last = items.at(-1);
    const next = last !== undefined && rest.length > limit ? shownPool(last.name) : null;
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
    const tenant = tenantOfCaller(request);
    const name = deps.poolOf(tenant, request.params.name);
    if (!deps.allows(tenant, name)) return bodyOf(deps, defaultPool(name), []);
    const [pools, living] = await Promise.all([deps.store.readPools(), livingWorkers(deps)]);
    return bodyOf(deps, pools.find((pool) => pool.name === name) ?? defaultPool(name), living);
  });
}

function putRoute(app: HttpApp, deps: PoolDependencies): void {
  const { store, changer, lacking } = deps;
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
      ...problems("wrong-state", "missing-scope", "not-found", "unsupported-media-type", "payload-too-large"),
    },
  };
  app.put("/v1/pools/:name", { schema, config: { scope: "tenant:admin" } }, async (request, reply) => {
    const caller = callerOf(request);
    const owner = ownerFor(caller, request.body.owner, deps);
    if (owner !== null) requireFeature("OWNED_POOLS", lacking);
    const name = owner === null ? request.params.name : ownedPool(owner, request.params.name);
    if (hasLimit(request.body)) requireFeature("POOL_LIMITS", lacking);
    if ((request.body.headroom ?? 0) > 0) requireFeature("POOL_HEADROOM", lacking);
    await refuseTooMany(store, name);
    const warnings = owner === null ? await warningsOf(deps, caller.tenant, name) : {};
    const note = noteOf(request, request.params.name, owner === null ? {} : { owner });
    const { pool, unconfirmedBy } = await changer.put(changeOf(name, request.body), note);
    if (owner !== null) await deps.tellPools();
    const body = { ...(await bodyOf(deps, pool, await livingWorkers(deps))), ...warnings };
    return reply.code(unconfirmedBy.length === 0 ? 200 : 202).send({ ...body, unconfirmedBy });
  });
}

/** Whether settings have a limit. Removing a limit is always possible. */
function hasLimit({ maxRunning, ratePerSec }: PoolSettings): boolean {
  return maxRunning != null || ratePerSec != null;
}

/** @throws {ProblemError} 409: the owner of the pool, or all tenants together, or shared pools have as many as may be */
async function refuseTooMany(store: PoolDependencies["store"], name: string): Promise<void> {
  const pools = await store.readPools();
  if (pools.some((pool) => pool.name === name)) return;
  const owner = ownerOfPool(name);
  const alike = pools.filter((pool) => (ownerOfPool(pool.name) === null) === (owner === null));
  const own = alike.filter((pool) => ownerOfPool(pool.name) === owner);
  if (alike.length >= POOLS_MAX) {
    throw new ProblemError(problem("wrong-state", `${POOLS_MAX} pools have settings of their own: use one of them`));
  }
  if (owner === null || own.length < OWNED_POOLS_MAX) return;
  throw new ProblemError(problem("wrong-state", `the tenant owns ${OWNED_POOLS_MAX} pools: use one of them`));
}

/**
 * Owner of the pool that a request sets up: the tenant that it names, or that of the caller; null: the pool is shared.
 * @throws {ProblemError} 403: only operators set up shared pools and pools of other tenants; 404: there is no such tenant
 */
function ownerFor(caller: Principal, asked: string | null | undefined, deps: PoolDependencies): Tenant | null {
  const own = isOfOperators(caller.tenant) ? null : caller.tenant;
  if (asked === undefined) {
    if (own === null) demandOperator(caller, "only operators set up shared pools");
    return own;
  }
  if (asked === own && own !== null) return own;
  demandOperator(caller, "only operators name another owner of a pool, or none: leave it out");
  if (asked === null) return null;
  const acting = deps.actingFor(caller, asked);
  if (acting === null) throw new ProblemError(problem("not-found", "there is no such tenant"));
  if (!isOfOperators(acting.tenant)) return acting.tenant;
  const message = "cannot be default, whose pools are the shared ones: leave it out";
  throw new ProblemError(invalid([{ field: "owner", message }]));
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
  const { paused, strategy, priorityStepSec, placement, maxRunning, ratePerSec, headroom } = settings;
  return {
    name,
    ...(paused !== undefined && { paused }),
    ...(strategy !== undefined && { order: strategy }),
    ...(priorityStepSec !== undefined && { priorityStepMs: Math.round(priorityStepSec * 1_000) }),
    ...(placement !== undefined && { placement }),
    ...(maxRunning !== undefined && { maxRunning }),
    ...(ratePerSec !== undefined && { ratePerSec }),
    ...(headroom !== undefined && { headroom }),
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
  const { name, paused, order, priorityStepMs, placement, maxRunning, ratePerSec, headroom } = pool;
  const serving = living.filter(({ pool }) => pool === name);
  return {
    ...{
      name: shownPool(name),
      owner: ownerOfPool(name),
      paused,
      strategy: order,
      priorityStepSec: priorityStepMs / 1_000,
      placement,
      maxRunning,
      ratePerSec,
      headroom,
    },
    workers: serving.length,
    slots: serving.reduce((sum, { slots }) => sum + slots, 0),
    running: serving.reduce((sum, { running }) => sum + running, 0),
    limitUse: isLimited(pool) && use !== null ? useBody(use) : null,
  };
}

function useBody({ taken, nextStartAt }: PoolUse): PoolBody["limitUse"] {
  return { taken, nextStartAt: nextStartAt === null ? null : formatInstant(nextStartAt) };
}
