import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Refusals, Refused } from "../../ports/refusals.ts";
import { actorOf } from "./audit-notes.ts";

/** Has requests counted that were refused for their credential, their scope or their way. */
export function noteRefusals(app: FastifyInstance, refusals: Refusals): void {
  app.addHook("onResponse", (request, reply, done) => {
    const refused = refusedOf(request, reply);
    if (refused !== null) refusals.note(refused);
    done();
  });
}

/** @returns null: the request was not refused, or for another reason */
function refusedOf(request: FastifyRequest, { statusCode }: FastifyReply): Refused | null {
  const { principal, ip: address, routeOptions } = request;
  if (principal === null) {
    const reason = REASONS[statusCode];
    if (reason === undefined) return null;
    const actor = { kind: "UNKNOWN", keyId: null, for: null } as const;
    return { action: "logIn", reason, address, tenant: null, actor };
  }
  if (statusCode !== 401 && statusCode !== 403) return null;
  const schema = routeOptions.schema as { operationId?: string } | undefined;
  const action = schema?.operationId ?? "logIn";
  return { action, reason: REASONS[statusCode] ?? "", address, tenant: principal.tenant, actor: actorOf(principal) };
}

const REASONS: Readonly<Record<number, string>> = {
  401: "unauthorized",
  403: "forbidden",
  429: "too-many-requests",
};
