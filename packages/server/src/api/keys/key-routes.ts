import {
  ApiKeyBody,
  ApiKeyRotation,
  ApiKeySubmission,
  CreatedApiKeyBody,
  MeBody,
  pageOf,
  pageQuery,
  Uuid,
} from "@mainspring/contract";
import { KEY_OVERLAP_SEC_DEFAULT, PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { type Static, Type } from "typebox";
import { KINDS_OF_OPERATORS, SCOPES_OF } from "../../domain/api-key.ts";
import type { EpochMs } from "../../domain/ids.ts";
import type { Authenticator, Principal } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { API_KEYS_MAX, type ApiKey, type KeyOwner, type StoreKeys } from "../../ports/store-keys.ts";
import { newKey, successorOf } from "../../security/new-key.ts";
import { isOfOperators } from "../../security/tenant.ts";
import { noteOf } from "../audit/audit-notes.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import { type HttpApp, withoutBody } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull, parseInstant } from "../http/instants.ts";
import { callerOf } from "../http/security.ts";

export interface KeyRoutes {
  store: { readonly keys: StoreKeys };
  bus: Bus;
  runtime: Runtime;
  authenticator: Pick<Authenticator, "isOpen" | "actingFor">;
  /** Reads changes of API keys from the store; left out: the node knows no keys of the store. */
  refreshKeys?: (() => Promise<void>) | undefined;
  lacking?: Lacking | undefined;
}

const tags = ["keys"];
const params = Type.Object({ keyId: Uuid("the key") });
const bodyProblems = ["payload-too-large", "unsupported-media-type"] as const;
const config = { scope: "tenant:admin" } as const;

/** Routes of /v1/api-keys, and GET /v1/me */
export function keyRoutes(app: HttpApp, deps: KeyRoutes): void {
  createRoute(app, deps);
  listRoutes(app, deps);
  revokeRoute(app, deps);
  rotateRoute(app, deps);
  meRoute(app);
}

function createRoute(app: HttpApp, deps: KeyRoutes): void {
  const { store, runtime, authenticator, lacking } = deps;
  const schema = {
    operationId: "createApiKey",
    tags,
    summary: "Create an API key; its text is in this answer only",
    body: ApiKeySubmission,
    response: {
      201: answer(CreatedApiKeyBody, "Created"),
      ...problems("wrong-state", "missing-scope", "not-found", ...bodyProblems),
    },
  };
  app.post("/v1/api-keys", { schema, config }, async (request, reply) => {
    requireFeature("API_KEYS", lacking);
    const caller = ownerOfNew(callerOf(request), request.body, authenticator);
    const { kind, name, scopes, pools, requireCert } = request.body;
    if (requireCert === true) requireFeature("WORKER_CERTIFICATES", lacking);
    if (kind === "WORKER" && !isOfOperators(caller.tenant)) requireFeature("OWNED_POOLS", lacking);
    if (authenticator.isOpen && kind !== "OPERATOR") {
      const detail = "the first key must be of the kind OPERATOR: from then on, every request needs a key";
      throw new ProblemError(problem("wrong-state", detail));
    }
    const expiresAt = expiryOf(request.body, runtime.now());
    const { key, text } = newKey(
      { kind, name, scopes, pools, requireCert, expiresAt, tenant: caller.tenant, createdBy: caller.keyId },
      runtime,
    );
    checkRights(request.body, key.scopes);
    checkMayGive(caller, key);
    const facts = { kind, tenant: key.tenant, scopes: [...key.scopes], ...(requireCert === true && { requireCert }) };
    if (!(await store.keys.create(key, noteOf(request, key.id, facts)))) throw noRoom();
    await tellKeysChanged(deps);
    return reply
      .code(201)
      .send({ ...keyBody({ ...key, revokedAt: null, lastUsedAt: null }, runtime.now()), key: text });
  });
}

/**
 * The caller, for the tenant of the new key.
 * @throws {ProblemError} 403: only operators name a tenant; 404: there is none
 */
function ownerOfNew(
  caller: Principal,
  { tenant }: Static<typeof ApiKeySubmission>,
  authenticator: Pick<Authenticator, "actingFor">,
): Principal {
  if (tenant !== undefined && !caller.scopes.has("system:admin"))
    throw new ProblemError(problem("missing-scope", "only operators name the tenant of a key: leave it out"));
  const owner = tenant === undefined ? caller : authenticator.actingFor(caller, tenant);
  if (owner === null) throw new ProblemError(problem("not-found", "there is no such tenant"));
  return owner;
}

/** @throws {ProblemError} 400 */
function expiryOf({ expiresAt }: Static<typeof ApiKeySubmission>, now: EpochMs): EpochMs | null {
  if (expiresAt === undefined) return null;
  const at = parseInstant(expiresAt);
  if (typeof at === "number" && at > now) return at;
  const message = typeof at === "string" ? at : "must be in the future";
  throw new ProblemError(invalid([{ field: "expiresAt", message }]));
}

/** @throws {ProblemError} 400: the kind has not all of the scopes, or the key serves no pools, or is not one of workers */
function checkRights({ kind, pools, requireCert }: Static<typeof ApiKeySubmission>, scopes: ApiKey["scopes"]): void {
  if (requireCert === true && kind !== "WORKER") {
    const message = `only workers show certificates, so only a key of the kind WORKER requires one, and not ${kind}: leave it out`;
    throw new ProblemError(invalid([{ field: "requireCert", message }]));
  }
  const foreign = scopes.find((scope) => !SCOPES_OF[kind].includes(scope));
  if (foreign !== undefined) {
    const message = `a key of the kind ${kind} may have ${SCOPES_OF[kind].join(", ")}, and not ${foreign}`;
    throw new ProblemError(invalid([{ field: "scopes", message }]));
  }
  if (pools === undefined || scopes.includes("worker:serve")) return;
  const message = "only a key with the scope worker:serve has pools: leave it out";
  throw new ProblemError(invalid([{ field: "pools", message }]));
}

/** @throws {ProblemError} 403: nobody gets rights of an operator from somebody without them */
function checkMayGive({ scopes }: Principal, key: Pick<ApiKey, "kind" | "scopes">): void {
  if (!KINDS_OF_OPERATORS.includes(key.kind)) return;
  const lack = ["system:admin" as const, ...key.scopes].find((scope) => !scopes.has(scope));
  if (lack === undefined) return;
  throw new ProblemError(
    problem(
      "missing-scope",
      `the key lacks the scope ${lack}, which a key of the kind ${key.kind} needs to be given by`,
    ),
  );
}

function listRoutes(app: HttpApp, { store, runtime }: KeyRoutes): void {
  const listSchema = {
    operationId: "listApiKeys",
    tags,
    summary: "List API keys, also those that are expired or revoked, for 90 days",
    querystring: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: answer(pageOf("ApiKeyPage", ApiKeyBody), "A page, by id"), ...problems() },
  };
  app.get("/v1/api-keys", { schema: listSchema, config }, async (request) => {
    const { cursor, limit = PAGE_ITEMS_DEFAULT } = request.query;
    const items = await store.keys.list(ownerOf(callerOf(request)), decodeCursor("api-keys", cursor), limit);
    const next = items.length < limit ? null : (items.at(-1)?.id ?? null);
    const now = runtime.now();
    return { items: items.map((key) => keyBody(key, now)), nextCursor: encodeCursor("api-keys", next) };
  });
  const schema = {
    operationId: "getApiKey",
    tags,
    summary: "Read an API key, without its text",
    params,
    response: { 200: answer(ApiKeyBody, "The key"), ...problems("not-found") },
  };
  app.get("/v1/api-keys/:keyId", { schema, config }, async (request) => {
    const key = await store.keys.get(ownerOf(callerOf(request)), request.params.keyId.toLowerCase());
    return keyBody(found(key), runtime.now());
  });
}

function revokeRoute(app: HttpApp, deps: KeyRoutes): void {
  const { store, runtime } = deps;
  const schema = {
    operationId: "revokeApiKey",
    tags,
    summary:
      "Revoke an API key for good: within two seconds no node takes it, and its streams and workers are disconnected",
    params,
    response: { 200: answer(ApiKeyBody, "Revoked"), ...problems("not-found", "missing-scope") },
  };
  app.delete("/v1/api-keys/:keyId", { schema, config }, async (request) => {
    const owner = ownerOf(callerOf(request));
    const id = request.params.keyId.toLowerCase();
    const now = runtime.now();
    const revoked = found(await store.keys.revoke(owner, id, now, noteOf(request, id)));
    await tellKeysChanged(deps);
    return keyBody(revoked, now);
  });
}

function rotateRoute(app: HttpApp, deps: KeyRoutes): void {
  const { store, runtime, lacking } = deps;
  const schema = {
    operationId: "rotateApiKey",
    tags,
    summary: "Create the successor of an API key; the former one is good for a while, too",
    params,
    body: ApiKeyRotation,
    response: {
      201: answer(CreatedApiKeyBody, "The successor, with its text"),
      ...problems("not-found", "wrong-state", "missing-scope", ...bodyProblems),
    },
  };
  app.post("/v1/api-keys/:keyId/rotate", withoutBody(schema, config.scope), async (request, reply) => {
    requireFeature("API_KEYS", lacking);
    const caller = callerOf(request);
    const former = found(await store.keys.get(ownerOf(caller), request.params.keyId.toLowerCase()));
    checkMayGive(caller, former);
    const { key, text } = successorOf(former, caller.keyId, runtime);
    const now = runtime.now();
    const { overlapSec = KEY_OVERLAP_SEC_DEFAULT } = request.body;
    const note = noteOf(request, key.id, { replaces: key.replaces, overlapSec });
    if (!(await store.keys.rotate(key, now + overlapSec * 1_000, now, note))) {
      const state = stateOf(former, now);
      throw state === "ACTIVE"
        ? noRoom()
        : new ProblemError(problem("wrong-state", `the key is ${state}: create another one`));
    }
    await tellKeysChanged(deps);
    return reply.code(201).send({ ...keyBody({ ...key, revokedAt: null, lastUsedAt: null }, now), key: text });
  });
}

function meRoute(app: HttpApp): void {
  const schema = {
    operationId: "whoAmI",
    tags,
    summary: "Show the key of this request, and what it may do",
    response: { 200: answer(MeBody, "The caller"), ...problems() },
  };
  app.get("/v1/me", { schema, config: { scope: "any" } }, (request) => {
    return meBody(callerOf(request));
  });
}

/** Shows a caller and its rights. */
export function meBody({ keyId, kind, tenant, scopes, pools }: Principal): MeBody {
  return { keyId, kind, tenant, scopes: [...scopes], pools: scopes.has("worker:serve") ? [...pools] : null };
}

/** Makes every node read a change of keys or tenants, this one at once. */
export async function tellKeysChanged({ bus, refreshKeys }: Pick<KeyRoutes, "bus" | "refreshKeys">): Promise<void> {
  for (const role of ["api", "gateway"] as const) {
    for (const node of bus.nodes(role)) bus.send({ node, role }, { kind: "KEYS_CHANGED" });
  }
  await refreshKeys?.();
}

function ownerOf({ tenant, scopes }: Principal): KeyOwner {
  return { tenant, isOperator: scopes.has("system:admin") };
}

function keyBody(key: ApiKey, now: EpochMs): ApiKeyBody {
  const {
    id,
    kind,
    tenant,
    name,
    hint,
    scopes,
    pools,
    certificateId,
    createdAt,
    createdBy,
    expiresAt,
    revokedAt,
    lastUsedAt,
    replaces,
  } = key;
  return {
    ...{ keyId: id, kind, tenant, name, hint, scopes: [...scopes] },
    pools: scopes.includes("worker:serve") ? [...pools] : null,
    certificateId,
    state: stateOf(key, now),
    ...{ createdAt: formatInstant(createdAt), createdBy },
    expiresAt: formatInstantOrNull(expiresAt),
    revokedAt: formatInstantOrNull(revokedAt),
    lastUsedAt: formatInstantOrNull(lastUsedAt),
    replaces,
  };
}

function stateOf({ expiresAt, revokedAt }: Pick<ApiKey, "expiresAt" | "revokedAt">, now: EpochMs): ApiKeyBody["state"] {
  if (revokedAt !== null) return "REVOKED";
  return expiresAt !== null && expiresAt <= now ? "EXPIRED" : "ACTIVE";
}

/** @throws {ProblemError} 404 */
function found(key: ApiKey | null): ApiKey {
  if (key === null) throw new ProblemError(problem("not-found", "there is no such API key"));
  return key;
}

function noRoom(): ProblemError {
  return new ProblemError(
    problem("wrong-state", `the store has ${API_KEYS_MAX} keys: revoked ones leave after 90 days`),
  );
}
