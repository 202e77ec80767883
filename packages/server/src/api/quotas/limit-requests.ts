import type { FastifyInstance, FastifyRequest } from "fastify";
import type { TenantRing } from "../../security/tenant-ring.ts";
import { busy } from "../http/errors.ts";
import type { Quotas } from "./quotas.ts";

/** Requests of a tenant that may be open at a node at once, where there are several tenants. */
const OPEN_REQUESTS = {
  /** Waits for executions, and streams of events. */
  long: 2_000,
  /** All others. */
  short: 256,
};

type Kind = keyof typeof OPEN_REQUESTS;

/** Refuses requests of a tenant beyond its rate, and beyond the number that may be open at once. Operators are not limited. */
export function limitRequests(
  app: FastifyInstance,
  quotas: Pick<Quotas, "chargeRequest">,
  tenants: Pick<TenantRing, "hasSeveral">,
  max: Record<Kind, number> = OPEN_REQUESTS,
): void {
  const open = new Map<string, number>();
  const hold = (tenant: string, kind: Kind): (() => void) | null => {
    const key = `${kind} ${tenant}`;
    const held = open.get(key) ?? 0;
    if (held >= max[kind]) return null;
    open.set(key, held + 1);
    return () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    };
  };
  app.addHook("onRequest", (request, reply, done) => {
    const { principal } = request;
    if (principal === null || principal.kind === "OPERATOR") return done();
    const { tenant } = principal;
    if (tenants.hasSeveral) {
      const kind = isLong(request) ? "long" : "short";
      const release = hold(tenant, kind);
      if (release === null) {
        const detail = `the tenant has ${max[kind]} ${kind === "long" ? "waits and streams" : "requests"} open already`;
        return done(busy("too-many-requests", detail, 1));
      }
      // The client may have left while its credential was judged.
      if (reply.raw.destroyed) release();
      else reply.raw.once("close", release);
    }
    const admit = () => done();
    const charged = quotas.chargeRequest(tenant);
    if (charged === null) admit();
    else charged.then(admit, done);
  });
}

function isLong({ query, routeOptions }: FastifyRequest): boolean {
  const { waitSec = "0" } = query as { waitSec?: string };
  return waitSec !== "0" || (routeOptions.url ?? "").endsWith("/events");
}
