import {
  pageOf,
  pageQuery,
  TenantBody,
  TenantName,
  TenantPatch,
  TenantSubmission,
  TenantUsageBody,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import { QUOTAS, TENANT_DEFAULTS, TENANTS_MAX } from "../../domain/tenant.ts";
import type { StoredTenant, TenantChange } from "../../ports/store-tenants.ts";
import { tenantOf } from "../../security/tenant.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { requireFeature } from "../feature-gate.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tellKeysChanged } from "../keys/key-routes.ts";
import { sourceRoutes } from "./source-routes.ts";
import { config, known, noSuchTenant, type TenantRoutes, tags, tenantBody } from "./tenant-views.ts";

/** Largest count of executions of a tenant. */
const COUNT_MAX = 10_000;
const params = Type.Object({ name: TenantName });
const bodyProblems = ["payload-too-large", "unsupported-media-type"] as const;
const IfMatch = Type.Object({
  "if-match": Type.Optional(
    Type.String({
      pattern: '^(\\*|"?[1-9][0-9]{0,14}"?)$',
      description: 'the version that the tenant is to have, as its ETag says: "3"; * or none: whatever it has',
    }),
  ),
});

/** Routes of /v1/tenants */
export function tenantRoutes(app: HttpApp, deps: TenantRoutes): void {
  createRoute(app, deps);
  readRoutes(app, deps);
  changeRoute(app, deps);
  deleteRoute(app, deps);
  usageRoute(app, deps);
  sourceRoutes(app, deps);
}

function createRoute(app: HttpApp, deps: TenantRoutes): void {
  const { store, runtime } = deps;
  const schema = {
    operationId: "createTenant",
    tags,
    summary: "Create a tenant, whose jobs, executions and keys are apart from those of all others",
    body: TenantSubmission,
    response: { 201: answer(TenantBody, "Created"), ...problems("wrong-state", ...bodyProblems) },
  };
  app.post("/v1/tenants", { schema, config }, async (request, reply) => {
    requireFeatures(request.body, deps);
    const { name, ...settings } = request.body;
    const asked = { ...TENANT_DEFAULTS, ...settings, name, createdAt: runtime.now() };
    const created = await store.tenants.create(asked, noteOf(request, name));
    if (created !== "CREATED") throw new ProblemError(problem("wrong-state", REFUSALS[created]));
    await tellKeysChanged(deps);
    const tenant = await known(store.tenants, name);
    void reply.header("etag", `"${tenant.version}"`);
    return reply.code(201).send(tenantBody(tenant, []));
  });
}

/** @throws {ProblemError} 409: a living node lacks tenants, or the limits that the request sets */
function requireFeatures(settings: TenantPatch, { lacking }: TenantRoutes): void {
  requireFeature("TENANTS", lacking);
  if (QUOTAS.some((quota) => (settings[quota] ?? null) !== null)) requireFeature("TENANT_QUOTAS", lacking);
  if ((settings.maxRunning ?? null) !== null) requireFeature("TENANT_LIMITS", lacking);
}

const REFUSALS = {
  EXISTS: "there is a tenant of this name already",
  FULL: `there are ${TENANTS_MAX} tenants already`,
  LEFTOVERS:
    "executions and jobs of a former tenant of this name are still kept: take another name, or wait until they have left (MAINSPRING_RETENTION_DAYS)",
} as const;

function readRoutes(app: HttpApp, { store }: TenantRoutes): void {
  const listSchema = {
    operationId: "listTenants",
    tags,
    summary: "List tenants",
    querystring: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: answer(pageOf("TenantPage", TenantBody), "A page, by name"), ...problems() },
  };
  app.get("/v1/tenants", { schema: listSchema, config }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const after = decodeCursor("tenants", cursor);
    const [all, sources] = await Promise.all([store.tenants.all(), store.tenants.sources()]);
    const rest = all.filter(({ name }) => after === null || name > after);
    const items = rest.slice(0, limit);
    const next = rest.length > limit ? (items.at(-1)?.name ?? null) : null;
    return { items: items.map((tenant) => tenantBody(tenant, sources)), nextCursor: encodeCursor("tenants", next) };
  });
  const schema = {
    operationId: "getTenant",
    tags,
    summary: "Read a tenant",
    params,
    response: { 200: answer(TenantBody, "The tenant; its version is the ETag"), ...problems("not-found") },
  };
  app.get("/v1/tenants/:name", { schema, config }, async (request, reply) => {
    const tenant = await known(store.tenants, request.params.name);
    void reply.header("etag", `"${tenant.version}"`);
    return tenantBody(tenant, await store.tenants.sources());
  });
}

function changeRoute(app: HttpApp, deps: TenantRoutes): void {
  const { store } = deps;
  const schema = {
    operationId: "changeTenant",
    tags,
    summary: "Change the settings of a tenant, suspend it, or let its work go on; what is left out stays as it is",
    params,
    headers: IfMatch,
    body: TenantPatch,
    response: {
      200: answer(TenantBody, "As it is now. Every node goes by it within two seconds"),
      ...problems("not-found", "wrong-state", "precondition-failed", ...bodyProblems),
    },
  };
  app.patch("/v1/tenants/:name", { schema, config }, async (request, reply) => {
    requireFeatures(request.body, deps);
    const { name } = request.params;
    const { state } = await known(store.tenants, name);
    if (state === "DELETING") throw new ProblemError(problem("wrong-state", "the tenant is DELETING"));
    if (name === tenantOf(null) && request.body.state === "SUSPENDED")
      throw new ProblemError(problem("wrong-state", `${name} is the tenant of the operators: it cannot be suspended`));
    const tenant = await changed(deps, request, request.body);
    void reply.header("etag", `"${tenant.version}"`);
    return tenantBody(tenant, await store.tenants.sources());
  });
}

function deleteRoute(app: HttpApp, deps: TenantRoutes): void {
  const { store, runtime } = deps;
  const schema = {
    operationId: "deleteTenant",
    tags,
    summary: "Delete a tenant: its keys are revoked, its jobs deleted, and its executions cancelled, in the background",
    params,
    headers: IfMatch,
    response: {
      202: answer(TenantBody, "It is DELETING, until nothing of it waits or runs; then there is no such tenant"),
      ...problems("not-found", "wrong-state", "precondition-failed"),
    },
  };
  app.delete("/v1/tenants/:name", { schema, config }, async (request, reply) => {
    refuseBody(request.body);
    const { name } = request.params;
    if (name === tenantOf(null))
      throw new ProblemError(problem("wrong-state", `${name} is the tenant of the operators: it cannot be deleted`));
    await known(store.tenants, name);
    const tenant = await changed(deps, request, { state: "DELETING" });
    await store.tenants.revokeKeys(name, runtime.now());
    await tellKeysChanged(deps);
    return reply.code(202).send(tenantBody(tenant, await store.tenants.sources()));
  });
}

function usageRoute(app: HttpApp, { store }: TenantRoutes): void {
  const schema = {
    operationId: "getTenantUsage",
    tags,
    summary: "Count the executions of a tenant by state",
    params,
    response: { 200: answer(TenantUsageBody, "Figures of this moment"), ...problems("not-found") },
  };
  app.get("/v1/tenants/:name/usage", { schema, config }, async (request) => {
    const { name } = await known(store.tenants, request.params.name);
    const { held: running, ...counts } = await store.queries.countExecutions(name, COUNT_MAX);
    return { name, running, ...counts, countedUpTo: COUNT_MAX };
  });
}

type TenantRequest = FastifyRequest & { params: { name: string } };

/** @throws {ProblemError} 404 or 412 */
async function changed(deps: TenantRoutes, request: TenantRequest, change: TenantChange): Promise<StoredTenant> {
  const { store, runtime } = deps;
  const { name } = request.params;
  const ifMatch = request.headers["if-match"];
  const version = ifMatch === undefined || ifMatch === "*" ? null : Number(ifMatch.replaceAll('"', ""));
  const outcome = await store.tenants.change(name, change, version, runtime.now(), noteOf(request, name));
  if (outcome.kind === "NOT_FOUND") throw noSuchTenant();
  if (outcome.kind === "OTHER_VERSION")
    throw new ProblemError(problem("precondition-failed", `the tenant has the version ${outcome.version}`));
  await tellKeysChanged(deps);
  return outcome.tenant;
}
