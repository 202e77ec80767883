import { HandlerBody, type HandlerPolicies, pageOf } from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { Type } from "typebox";
import { shownPool } from "../../domain/pool.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { HandlerOffer } from "../../ports/handler-policies.ts";
import type { KeptHandler, StoreHandlers } from "../../ports/store-handlers.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstantOrNull } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { HandlerOffers } from "./offers.ts";

const CONTRADICTIONS_MAX = 8;
const PAGE_MAX = 200;
const name = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 128, description }));
const querystring = Type.Object(
  {
    pool: name("only handlers of this pool"),
    handler: name("only handlers of this name"),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, description: "items a page; default 50" })),
    cursor: Type.Optional(Type.String({ maxLength: 2_048, description: "`nextCursor` of the page before" })),
  },
  { additionalProperties: false },
);

interface HandlerParts {
  store: { readonly handlers: StoreHandlers };
  offers: Pick<HandlerOffers, "ask">;
  /** Whether a tenant may use a pool. Handlers of other pools are not shown to it. */
  allows: (tenant: Tenant, pool: string) => boolean;
  lacking?: Lacking | undefined;
}

/** A handler of a pool: as the store keeps it, and as workers offer it now. */
interface Handler {
  pool: string;
  handler: string;
  kept: KeptHandler | null;
  /** One of each gateway. */
  offers: HandlerOffer[];
}

/** GET /v1/handlers */
export function handlerRoutes(app: HttpApp, { store, offers, allows, lacking }: HandlerParts): void {
  const schema = {
    operationId: "listHandlers",
    tags: ["node"],
    summary: "List the handlers that workers offer or tasks have declared policies for",
    querystring,
    response: {
      200: answer(pageOf("HandlerPage", HandlerBody), "A page, by pool and handler"),
      ...problems("wrong-state"),
    },
  };
  app.get("/v1/handlers", { schema, config: { scope: "jobs:read" } }, async (request) => {
    requireFeature("HANDLER_OFFERS", lacking);
    const { pool, handler, cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const after = decodeCursor("handlers", cursor);
    const [kept, offered] = await Promise.all([store.handlers.read(null), offers.ask()]);
    const tenant = tenantOfCaller(request);
    const found = [...merged(kept?.handlers ?? [], offered.offers)].filter(
      ([key, one]) =>
        allows(tenant, one.pool) &&
        (after === null || key > after) &&
        (pool ?? shownPool(one.pool)) === shownPool(one.pool) &&
        (handler ?? one.handler) === one.handler,
    );
    found.sort(([a], [b]) => (a < b ? -1 : 1));
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.[0] ?? null) : null;
    return { items: page.map(([, one]) => bodyOf(one)), nextCursor: encodeCursor("handlers", next) };
  });
}

function merged(kept: readonly KeptHandler[], offers: readonly HandlerOffer[]): Map<string, Handler> {
  const all = new Map<string, Handler>();
  const at = ({ pool, handler }: { pool: string; handler: string }): Handler => {
    const key = `${pool}\u0000${handler}`;
    const known = all.get(key) ?? { pool, handler, kept: null, offers: [] };
    all.set(key, known);
    return known;
  };
  for (const one of kept) at(one).kept = one;
  for (const one of offers) at(one).offers.push(one);
  return all;
}

function bodyOf({ pool, handler, kept, offers }: Handler): HandlerBody {
  const { isHome: home, policies } = kept ?? { isHome: false, policies: "{}" };
  return {
    ...{ pool: shownPool(pool), handler, policies: policiesOf(policies), home },
    workers: offers.reduce((sum, { workers }) => sum + workers, 0),
    contradictions: contradictionsOf({ home, policies }, offers),
    declaredAt: formatInstantOrNull(kept?.declaredAt ?? null),
    lastSeenAt: formatInstantOrNull(kept?.seenAt ?? null),
  };
}

function contradictionsOf(
  kept: { home: boolean; policies: string },
  offers: readonly HandlerOffer[],
): HandlerBody["contradictions"] {
  const others = new Map<string, HandlerBody["contradictions"][number]>();
  for (const { isHome: home, policies, workers } of offers.flatMap(({ declared }) => declared)) {
    if (home === kept.home && policies === kept.policies) continue;
    const key = `${home} ${policies}`;
    const known = others.get(key);
    if (known !== undefined) known.workers += workers;
    else if (others.size < CONTRADICTIONS_MAX) others.set(key, { policies: policiesOf(policies), home, workers });
  }
  return [...others.values()];
}

function policiesOf(text: string): HandlerPolicies {
  return JSON.parse(text) as HandlerPolicies;
}
