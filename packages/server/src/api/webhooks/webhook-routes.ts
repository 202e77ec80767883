import {
  CreatedWebhookBody,
  pageOf,
  pageQuery,
  RotatedSecretBody,
  Uuid,
  WebhookBody,
  WebhookDisabling,
  WebhookSubmission,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import type { FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { EpochMs } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { type StoreWebhooks, SUBSCRIPTIONS_MAX, type Subscription, type Webhook } from "../../ports/store-webhooks.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import { type HttpApp, withoutBody } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { deliveryRoutes } from "./delivery-routes.ts";
import type { WebhookRules } from "./webhook-rules.ts";
import { found, webhookBody } from "./webhook-views.ts";

export interface WebhookRoutes {
  stores: Pick<TenantStores, "of">;
  store: Pick<StoreWebhooks, "create">;
  runtime: Runtime;
  /** Left out: the server sends no webhooks, and takes no subscriptions. */
  rules?: WebhookRules | undefined;
  lacking?: Lacking | undefined;
}

/** Time in ms for which a secret that was replaced still signs. */
const FORMER_SECRET_MS = 24 * 3_600_000;

const tags = ["webhooks"];
const params = Type.Object({ webhookId: Uuid("the webhook") });
const bodyProblems = ["payload-too-large", "unsupported-media-type"] as const;

/** Routes of /v1/webhooks */
export function webhookRoutes(app: HttpApp, deps: WebhookRoutes): void {
  listRoutes(app, deps);
  createRoute(app, deps);
  rotateRoute(app, deps);
  stateRoutes(app, deps);
  removeRoute(app, deps);
  deliveryRoutes(app, deps);
}

function listRoutes(app: HttpApp, { stores }: WebhookRoutes): void {
  const listSchema = {
    operationId: "listWebhooks",
    tags,
    summary: "List webhooks: subscriptions, and the receivers of ends that were tried",
    querystring: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: answer(pageOf("WebhookPage", WebhookBody), "A page, by id"), ...problems() },
  };
  app.get("/v1/webhooks", { schema: listSchema, config: { scope: "tenant:admin" } }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const items = await stores.of(tenantOfCaller(request)).webhooks.list(decodeCursor("webhooks", cursor), limit);
    const next = items.length < limit ? null : (items.at(-1)?.id ?? null);
    return { items: items.map(webhookBody), nextCursor: encodeCursor("webhooks", next) };
  });
  const schema = {
    operationId: "getWebhook",
    tags,
    summary: "Read a webhook",
    params,
    response: { 200: answer(WebhookBody, "The webhook"), ...problems("not-found") },
  };
  app.get("/v1/webhooks/:webhookId", { schema, config: { scope: "tenant:admin" } }, async (request) => {
    return webhookBody(
      found(await stores.of(tenantOfCaller(request)).webhooks.get(request.params.webhookId.toLowerCase())),
    );
  });
}

function createRoute(app: HttpApp, { store, runtime, rules, lacking }: WebhookRoutes): void {
  const schema = {
    operationId: "createWebhook",
    tags,
    summary: "Subscribe a URL to events: it gets each of them as a signed POST",
    body: WebhookSubmission,
    response: {
      201: answer(CreatedWebhookBody, "Subscribed, with the secret that signs its deliveries"),
      ...problems("wrong-state", ...bodyProblems),
    },
  };
  app.post("/v1/webhooks", { schema, config: { scope: "tenant:admin" } }, async (request, reply) => {
    requireFeature("WEBHOOKS", lacking);
    const asked = subscriptionOf(tenantOfCaller(request), request.body, runtime, rules);
    const createdAt = runtime.now();
    if (!(await store.create(asked, createdAt, noteOf(request, asked.id)))) {
      const detail = `there are ${SUBSCRIPTIONS_MAX} subscriptions already: remove one of them`;
      throw new ProblemError(problem("wrong-state", detail));
    }
    return reply.code(201).send({ ...webhookBody(untried(asked, createdAt)), secret: asked.secret });
  });
}

/** @throws {ProblemError} the server does not take the subscription; the problem says why */
function subscriptionOf(
  tenant: Tenant,
  { url, kinds, handler, pool }: Static<typeof WebhookSubmission>,
  runtime: Runtime,
  rules: WebhookRules | undefined,
): Subscription {
  if (rules === undefined || !rules.tellsSubscriptions) {
    const detail =
      "subscriptions need lifecycle events: set MAINSPRING_EVENTS=webhook (or api,webhook …) on every server";
    throw new ProblemError(problem("wrong-state", detail));
  }
  const fault = rules.urlFault(url);
  if (fault !== null) throw new ProblemError(invalid([{ field: "url", message: fault }]));
  const filter = { kinds: kinds ?? [], handler: handler ?? null, pool: pool ?? null };
  const { href } = new URL(url);
  return { id: runtime.uuid(), tenant, url: href, filter, secret: rules.newSecret() };
}

function untried({ id, tenant, url, filter }: Subscription, createdAt: EpochMs): Webhook {
  const never = { failingSince: null, lastError: null, lastDeliveredAt: null, disabledAt: null, disabledReason: null };
  return { id, tenant, kind: "SUBSCRIPTION", url, filter, createdAt, ...never };
}

function rotateRoute(app: HttpApp, { stores, runtime, rules }: WebhookRoutes): void {
  const schema = {
    operationId: "rotateWebhookSecret",
    tags,
    summary: "Give a subscription a new secret; the former one signs for another day, too",
    params,
    body: Type.Object({}, { additionalProperties: false }),
    response: {
      200: answer(RotatedSecretBody, "The new secret"),
      ...problems("not-found", "wrong-state", ...bodyProblems),
    },
  };
  app.post("/v1/webhooks/:webhookId/rotate-secret", withoutBody(schema, "tenant:admin"), async (request) => {
    const id = request.params.webhookId.toLowerCase();
    const { kind } = found(await stores.of(tenantOfCaller(request)).webhooks.get(id));
    if (kind === "ON_FINISH" || rules === undefined) {
      const detail = "the secret of the server signs the webhooks of ends: change MAINSPRING_WEBHOOK_SECRET";
      throw new ProblemError(problem("wrong-state", detail));
    }
    const secret = rules.newSecret();
    const formerUntil = runtime.now() + FORMER_SECRET_MS;
    const { webhooks } = stores.of(tenantOfCaller(request));
    if (!(await webhooks.rotate(id, secret, formerUntil, noteOf(request, id)))) found(null);
    return { secret, formerUntil: formatInstant(formerUntil) };
  });
}

type WebhookRequest = FastifyRequest & { params: { webhookId: string } };

function stateRoutes(app: HttpApp, { stores, runtime }: WebhookRoutes): void {
  const change = async (request: WebhookRequest, reason: string | null) => {
    const id = request.params.webhookId.toLowerCase();
    const { webhooks } = stores.of(tenantOfCaller(request));
    return webhookBody(found(await webhooks.setDisabled(id, reason, runtime.now(), noteOf(request, id))));
  };
  const enableSchema = {
    operationId: "enableWebhook",
    tags,
    summary: "Enable a webhook: its deliveries that wait are sent",
    params,
    body: Type.Object({}, { additionalProperties: false }),
    response: { 200: answer(WebhookBody, "As it is now"), ...problems("not-found", ...bodyProblems) },
  };
  app.post("/v1/webhooks/:webhookId/enable", withoutBody(enableSchema, "tenant:admin"), (request) =>
    change(request, null),
  );
  const disableSchema = {
    operationId: "disableWebhook",
    tags,
    summary: "Disable a webhook: its deliveries wait, and a subscription gets no new ones",
    params,
    body: WebhookDisabling,
    response: { 200: answer(WebhookBody, "As it is now"), ...problems("not-found", ...bodyProblems) },
  };
  app.post("/v1/webhooks/:webhookId/disable", withoutBody(disableSchema, "tenant:admin"), (request) =>
    change(request, request.body.reason ?? "disabled by a request"),
  );
}

function removeRoute(app: HttpApp, { stores }: WebhookRoutes): void {
  const schema = {
    operationId: "removeWebhook",
    tags,
    summary: "Remove a webhook with its deliveries; a receiver of ends comes back with the next end",
    params,
    response: { 204: Type.Null({ description: "Removed" }), ...problems("not-found") },
  };
  app.delete("/v1/webhooks/:webhookId", { schema, config: { scope: "tenant:admin" } }, async (request, reply) => {
    const id = request.params.webhookId.toLowerCase();
    const { webhooks } = stores.of(tenantOfCaller(request));
    if (!(await webhooks.remove(id, noteOf(request, id)))) found(null);
    return reply.code(204).send(null);
  });
}
