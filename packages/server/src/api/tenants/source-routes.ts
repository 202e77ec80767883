import { TenantBody, TenantSourceParams } from "@mainspring/contract";
import { QueryUnserved } from "../../ports/store-errors.ts";
import type { StoredTenant } from "../../ports/store-tenants.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tellKeysChanged } from "../keys/key-routes.ts";
import { config, known, type TenantRoutes, tags, tenantBody } from "./tenant-views.ts";

/** Routes PUT and DELETE /v1/tenants/{name}/sources/{kind}/{source} */
export function sourceRoutes(app: HttpApp, deps: TenantRoutes): void {
  const { tenants } = deps.store;
  const schemaOf = (operationId: string, summary: string) => ({
    ...{ operationId, tags, summary, params: TenantSourceParams },
    response: { 200: answer(TenantBody, "The tenant with its sources"), ...problems("not-found", "query-unserved") },
  });
  const path = "/v1/tenants/:name/sources/:kind/:source";
  const putSchema = schemaOf(
    "bindTenantSource",
    "Give a database role, or a topic of requests, to a tenant: its requests from then on are the tenant's",
  );
  app.put(path, { schema: putSchema, config }, async (request) => {
    refuseBody(request.body);
    const { name, kind, source } = request.params;
    if (kind === "ROLE" && deps.servesSql === false)
      throw new QueryUnserved("requests in SQL", "bind a topic of requests in Kafka in place of a role");
    const tenant = await known(tenants, name);
    await tenants.bind({ kind, name: source }, name, noteOf(request, name, { kind, source }));
    return await told(deps, tenant);
  });
  const deleteSchema = schemaOf(
    "unbindTenantSource",
    "Take a database role or a topic from a tenant: its requests are those of the tenant default again",
  );
  app.delete(path, { schema: deleteSchema, config }, async (request) => {
    refuseBody(request.body);
    const { name, kind, source } = request.params;
    const tenant = await known(tenants, name);
    const isOwn = (await tenants.sources()).some(
      (bound) => bound.kind === kind && bound.name === source && bound.tenant === name,
    );
    if (isOwn) await tenants.bind({ kind, name: source }, null, noteOf(request, name, { kind, source }));
    return await told(deps, tenant);
  });
}

/** Tells the other nodes of a change. @returns the tenant as it is now */
async function told(deps: TenantRoutes, tenant: StoredTenant): Promise<TenantBody> {
  await tellKeysChanged(deps);
  return tenantBody(tenant, await deps.store.tenants.sources());
}
