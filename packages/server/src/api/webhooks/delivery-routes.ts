import {
  DeliveryBody,
  DeliveryState,
  pageOf,
  pageQuery,
  ReplayedBody,
  Uuid,
  WebhookReplay,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { EpochMs } from "../../domain/ids.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ReplayQuery } from "../../ports/store-webhooks.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { parseInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { deliveryBody, found } from "./webhook-views.ts";

interface DeliveryRoutes {
  stores: Pick<TenantStores, "of">;
  runtime: Pick<Runtime, "now">;
}

const tags = ["webhooks"];
const params = Type.Object({ webhookId: Uuid("the webhook") });

/** Routes GET /v1/webhooks/{webhookId}/deliveries and POST /v1/webhooks/{webhookId}/replay */
export function deliveryRoutes(app: HttpApp, { stores, runtime }: DeliveryRoutes): void {
  const listSchema = {
    operationId: "listDeliveries",
    tags,
    summary: "List deliveries of a webhook",
    params,
    querystring: Type.Object({ state: Type.Optional(DeliveryState), ...pageQuery }, { additionalProperties: false }),
    response: { 200: answer(pageOf("DeliveryPage", DeliveryBody), "A page, newest first"), ...problems("not-found") },
  };
  app.get(
    "/v1/webhooks/:webhookId/deliveries",
    { schema: listSchema, config: { scope: "tenant:admin" } },
    async (request) => {
      const { state = null, cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
      const id = request.params.webhookId.toLowerCase();
      const before = decodeCursor("deliveries", cursor);
      found(await stores.of(tenantOfCaller(request)).webhooks.get(id));
      const items = await stores.of(tenantOfCaller(request)).webhooks.deliveries(id, { state, before, limit });
      const next = items.length < limit ? null : (items.at(-1)?.id ?? null);
      return { items: items.map(deliveryBody), nextCursor: encodeCursor("deliveries", next) };
    },
  );
  const schema = {
    operationId: "replayDeliveries",
    tags,
    summary: "Send deliveries again, from the first try on: these, or all FAILED ones of an interval",
    params,
    body: WebhookReplay,
    response: {
      200: answer(ReplayedBody, "They are sent within some seconds"),
      ...problems("not-found", "wrong-state", "payload-too-large", "unsupported-media-type"),
    },
  };
  app.post("/v1/webhooks/:webhookId/replay", { schema, config: { scope: "tenant:admin" } }, async (request) => {
    const now = runtime.now();
    const id = request.params.webhookId.toLowerCase();
    const which = queryOf(request.body, now);
    const { disabledReason } = found(await stores.of(tenantOfCaller(request)).webhooks.get(id));
    if (disabledReason !== null) {
      const detail = `the webhook is DISABLED (${disabledReason}): enable it first`;
      throw new ProblemError(problem("wrong-state", detail));
    }
    const { webhooks } = stores.of(tenantOfCaller(request));
    return { replayed: await webhooks.replay(id, which, now, noteOf(request, id)) };
  });
}

/** @throws {ProblemError} 400 */
function queryOf({ deliveryIds, since, until }: WebhookReplay, now: EpochMs): ReplayQuery {
  const isOne = (deliveryIds === undefined) !== (since === undefined);
  if (!isOne || (until !== undefined && since === undefined)) {
    const message = "must have either deliveryIds, or since with or without until";
    throw new ProblemError(invalid([{ field: "", message }]));
  }
  if (deliveryIds !== undefined) return { ids: deliveryIds.map((id) => id.toLowerCase()) };
  // The schema has accepted both texts.
  const at = (text: string) => parseInstant(text) as EpochMs;
  return { since: at(since as string), until: until === undefined ? now + 1 : at(until) };
}
