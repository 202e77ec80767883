import { API_KEY_KINDS, SCOPES } from "@mainspring/contract/enums";
import { type ApiKeyKind, SCOPES_OF } from "../domain/api-key.ts";
import { isSafeUrl, type TokenRole, type TokenRules } from "../ports/issuer.ts";
import { type Parse, Unfit } from "./config-values.ts";

/** Settings of an issuer of tokens. */
export interface TokenConfig extends TokenRules {
  issuer: string;
}

/** Values of the claim `scope` for the kinds of API keys. */
export const DEFAULT_ROLES = API_KEY_KINDS.map((kind) => `mainspring:${nameOf(kind)}=${nameOf(kind)}`).join(",");
/** Kinds with the fewest rights first. Scopes show the first of them that has them all. */
const BY_RIGHTS: readonly ApiKeyKind[] = ["METRICS", "WORKER", "READER", "CLIENT", "TENANT_ADMIN", "OPERATOR"];
const ROLES_MAX = 1_000;

/** Parses the identifier of an issuer. Nobody between the server and the issuer may be able to change its keys. */
export const issuerUrl: Parse<string> = (text) => {
  const { username = "", search = "", hash = "" } = URL.canParse(text) ? new URL(text) : {};
  return isSafeUrl(text) && username + search + hash === ""
    ? text
    : new Unfit("must be an https URL without a query, as https://login.example/realm (http on loopback only)");
};

export const shortText: Parse<string> = (text) =>
  /^[\x21-\x7e]{1,200}$/.test(text) ? text : new Unfit("must be 1 to 200 visible ASCII characters without spaces");

/** Parses rights of values of a claim: `value=kind` or `value=scope+scope`, with commas between them. */
export const tokenRoles: Parse<ReadonlyMap<string, TokenRole>> = (text) => {
  const kinds = API_KEY_KINDS.map(nameOf).join(", ");
  const expected = `must be a list with commas of value=kind or value=scope+scope, with the kinds ${kinds}`;
  const roles = new Map<string, TokenRole>();
  for (const part of text.split(",").flatMap((one) => one.trim() || [])) {
    const at = part.lastIndexOf("=");
    const value = part.slice(0, at).trim();
    const role = roleOf(part.slice(at + 1).trim());
    if (at < 1 || value === "" || role === null || roles.has(value)) return new Unfit(expected, part);
    roles.set(value, role);
  }
  return roles.size === 0 || roles.size > ROLES_MAX ? new Unfit(expected) : roles;
};

function roleOf(rights: string): TokenRole | null {
  const kind = API_KEY_KINDS.find((one) => nameOf(one) === rights);
  if (kind !== undefined) return { kind, scopes: SCOPES_OF[kind] };
  const names = rights.split("+");
  const scopes = SCOPES.filter((scope) => names.includes(scope));
  const least = BY_RIGHTS.find((one) => scopes.every((scope) => SCOPES_OF[one].includes(scope)));
  return scopes.length < names.length || least === undefined ? null : { kind: least, scopes };
}

/** Name of a kind in settings and commands, as tenant-admin. */
function nameOf(kind: ApiKeyKind): string {
  return kind.toLowerCase().replace("_", "-");
}
