import type { JWTPayload } from "jose";
import { EVERY_POOL, KINDS_OF_OPERATORS } from "../../domain/api-key.ts";
import type { Principal, Tenant } from "../../ports/authenticator.ts";
import type { TokenRole, TokenRules } from "../../ports/issuer.ts";
import { tenantOf } from "../tenant.ts";

/** Longest `sub`, in characters. */
const SUBJECT_MAX_CHARS = 200;
const POOLS_MAX = 100;
/** A name of a pool, in which `*` stands for any characters. */
const POOL = /^[\x21-\x7e]{1,128}$/;

/** Kinds with the most rights first. A token with several roles shows the first of their kinds. */
const BY_RIGHTS = ["OPERATOR", "TENANT_ADMIN", "CLIENT", "WORKER", "READER", "METRICS"] as const;

export interface ClaimRules extends Pick<TokenRules, "rolesClaim" | "roles" | "tenantClaim" | "poolsClaim"> {
  /** Whether there is a tenant of this name. */
  isTenant(name: string): boolean;
}

/**
 * The caller that verified claims describe.
 * @returns a text: the reason why they describe none, for the operator
 */
export function principalOf(claims: JWTPayload, rules: ClaimRules): Principal | string {
  const { sub } = claims;
  if (typeof sub !== "string" || !/^[\x21-\x7e]+$/.test(sub) || sub.length > SUBJECT_MAX_CHARS) {
    return `its claim sub must be 1 to ${SUBJECT_MAX_CHARS} visible ASCII characters`;
  }
  const role = roleOf(textsOf(claimAt(claims, rules.rolesClaim)) ?? [], rules.roles);
  if (role === null) return "no value of the claim of MAINSPRING_OIDC_ROLES_CLAIM is in MAINSPRING_OIDC_ROLES";
  const tenant = tenantIn(claims, role, rules);
  if (tenant === null) return "the claim of MAINSPRING_OIDC_TENANT_CLAIM names no tenant that there is";
  const pools = poolsIn(claims, role, rules.poolsClaim);
  if (pools === null)
    return "the claim of MAINSPRING_OIDC_POOLS_CLAIM must be a list of pools, in which * stands for any characters";
  return { keyId: `oidc:${sub}`, source: "TOKEN", kind: role.kind, tenant, scopes: new Set(role.scopes), pools };
}

/** All rights of several roles; null: none of the values is a role. */
function roleOf(values: readonly string[], roles: ClaimRules["roles"]): TokenRole | null {
  const given = values.flatMap((value) => roles.get(value) ?? []);
  const kind = BY_RIGHTS.find((one) => given.some((role) => role.kind === one));
  return kind === undefined ? null : { kind, scopes: given.flatMap(({ scopes }) => scopes) };
}

/** Tenant of a token. Operators belong to none, and act for `default`. */
function tenantIn(claims: JWTPayload, { kind }: TokenRole, { tenantClaim, isTenant }: ClaimRules): Tenant | null {
  if (tenantClaim === null || KINDS_OF_OPERATORS.includes(kind)) return tenantOf(null);
  const name = claimAt(claims, tenantClaim);
  return typeof name === "string" && isTenant(name) ? tenantOf(name) : null;
}

function poolsIn(claims: JWTPayload, { scopes }: TokenRole, poolsClaim: string): readonly string[] | null {
  if (!scopes.includes("worker:serve")) return [];
  const given = claimAt(claims, poolsClaim);
  if (given === undefined) return EVERY_POOL;
  const pools = textsOf(given);
  return pools === null || pools.length === 0 || pools.length > POOLS_MAX || !pools.every((pool) => POOL.test(pool))
    ? null
    : pools;
}

/** Value of a claim by its name, or by its path with dots, as `realm_access.roles`. */
function claimAt(claims: JWTPayload, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** Texts of a claim: a list, or one text with spaces between them, as `scope` is; null: it is neither. */
function textsOf(value: unknown): string[] | null {
  if (typeof value === "string") return value.split(" ").filter((text) => text !== "");
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : null;
}
