import { MeBody, SessionRequest } from "@mainspring/contract";
import { type Authenticator, isRefusal } from "../../ports/authenticator.ts";
import type { StoreAudit } from "../../ports/store-audit.ts";
import type { SessionSeal } from "../../security/session-seal.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { answer, problems } from "../http/documented.ts";
import { ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { errorOf } from "../http/security.ts";
import { originFault, sessionCookie } from "../http/session-cookie.ts";
import { meBody } from "./key-routes.ts";

interface SessionRoutes {
  authenticator: Pick<Authenticator, "isOpen" | "judge">;
  seal: SessionSeal;
  audit: Pick<StoreAudit, "write">;
}

const tags = ["keys"];
const config = { scope: "public" } as const;

/** Routes POST and DELETE /v1/session */
export function sessionRoutes(app: HttpApp, { authenticator, seal, audit }: SessionRoutes): void {
  const schema = {
    operationId: "createSession",
    tags,
    summary:
      "Exchange an API key for a session: a cookie for browsers, which scripts cannot read, for 12 hours at most",
    body: SessionRequest,
    response: {
      200: answer(MeBody, "The caller; the header Set-Cookie has the session"),
      ...problems("wrong-state", "payload-too-large", "unsupported-media-type"),
    },
  };
  app.post("/v1/session", { schema, config }, async (request, reply) => {
    if (authenticator.isOpen) {
      throw new ProblemError(problem("wrong-state", "the server asks for no key, so there is nothing to log in to"));
    }
    const { key } = request.body;
    const judged = await authenticator.judge(`Bearer ${key}`, request.ip);
    if (isRefusal(judged)) throw errorOf(judged, reply);
    request.principal = judged;
    await audit.write([noteOf(request, judged.keyId)]);
    void reply.header("set-cookie", sessionCookie(seal.seal(key), request)).header("cache-control", "no-store");
    return meBody(judged);
  });
  const endSchema = {
    operationId: "endSession",
    tags,
    summary: "End the session of a browser: it forgets the cookie; needs no key",
    response: { 204: { description: "The cookie is gone", type: "null" }, ...problems() },
  };
  app.delete("/v1/session", { schema: endSchema, config }, (request, reply) => {
    const fault = originFault(request);
    if (fault !== null) throw fault;
    return reply.code(204).header("set-cookie", sessionCookie(null, request)).send();
  });
}
