import { TenantBody, TenantSourceParams } from "@mainspring/contract";
import { noteOf } from "../audit/audit-notes.ts";
import { refuseBody } from "../http/body/no-body.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tellKeysChanged } from "../keys/key-routes.ts";
import { config, known, type TenantRoutes, tags, tenantBody } from "./tenant-views.ts";

/** Routes PUT and DELETE /v1/tenants/{name}/sources/{kind}/{source} */
export function sourceRoutes(app: HttpApp, deps: TenantRoutes): void {
  const { store } = deps;
  const path = "/v1/tenants/:name/sources/:kind/:source";
  const response = { 200: answer(TenantBody, "The tenant with its sources"), ...problems("not-found") };
  const putSchema = {
    operationId: "bindTenantSource",
    tags,
    summary: "Give a database role, or a topic of requests, to a tenant: its requests from then on are the tenant's",
    params: TenantSourceParams,
    response,
  };
  app.put(path, { schema: putSchema, config }, async (request) => {
    refuseBody(request.body);
    const { name, kind, source } = request.params;
    const tenant = await known(store.tenants, name);
    await store.tenants.bind({ kind, name: source }, name, noteOf(request, name, { kind, source }));
    await tellKeysChanged(deps);
    return tenantBody(tenant, await store.tenants.sources());
  });
  const deleteSchema = {
    operationId: "unbindTenantSource",
    tags,
    summary: "Take a database role or a topic from a tenant: its requests are those of the tenant default again",
    params: TenantSourceParams,
    response,
  };
  app.delete(path, { schema: deleteSchema, config }, async (request) => {
    refuseBody(request.body);
    const { name, kind, source } = request.params;
    const tenant = await known(store.tenants, name);
    const isOwn = (await store.tenants.sources()).some(
      (bound) => bound.kind === kind && bound.name === source && bound.tenant === name,
    );
    if (isOwn) await store.tenants.bind({ kind, name: source }, null, noteOf(request, name, { kind, source }));
    await tellKeysChanged(deps);
    return tenantBody(tenant, await store.tenants.sources());
  });
}
