import type { ApiKeyKind, Scope } from "../domain/api-key.ts";

/** A JSON Web Key, as the issuer publishes it. */
export type IssuerKey = Readonly<Record<string, unknown>> & { readonly kid?: string };

/** An issuer of tokens (OpenID Connect). */
export interface Issuer {
  /** Identifier of the issuer, as its tokens name it in `iss`. */
  readonly url: string;
  /**
   * Asks the issuer for the public keys that it signs tokens by: `ISSUER_KEYS_MAX` at most.
   * @throws {IssuerUnavailable}
   */
  keys(): Promise<readonly IssuerKey[]>;
}

/** Largest number of keys of an issuer. */
export const ISSUER_KEYS_MAX = 100;

/** Whether nobody on the way to an address can change its answers: it has TLS, or is on this machine. */
export function isSafeUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname));
}

/** The issuer cannot tell its keys now. The message names the address that was asked, and the fault. */
export class IssuerUnavailable extends Error {
  override readonly name = "IssuerUnavailable";
}

/** Rules for the tokens of an issuer. */
export interface TokenRules {
  /** Value that `aud` must be, or contain. */
  audience: string;
  /** Algorithms that a token may be signed by. The token only chooses among them. */
  algorithms: readonly TokenAlgorithm[];
  /** Largest difference between the clock of the issuer and that of the store, in seconds. */
  skewSec: number;
  /** Longest time from `iat` to `exp`, in seconds. */
  lifeSec: number;
  /** Shortest interval between two questions for keys because a token names an unknown one, in seconds. */
  refreshSec: number;
  /** Time for which known keys stay good while the issuer does not answer, in seconds. */
  staleSec: number;
  /** Claim that gives a token its rights. */
  rolesClaim: string;
  /** Rights by value of that claim: a kind of API key, or scopes. */
  roles: ReadonlyMap<string, TokenRole>;
  /** Claim that names the tenant; null: every token is of the tenant `default`. */
  tenantClaim: string | null;
  /** Claim that names the pools that a worker may serve. A token without it may serve every pool. */
  poolsClaim: string;
}

/** Rights that a value of a claim gives. */
export interface TokenRole {
  kind: ApiKeyKind;
  scopes: readonly Scope[];
}

/** Algorithms with public keys. No secret key is among them, so nobody can sign with what the issuer publishes. */
export const TOKEN_ALGORITHMS = [
  ...(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const),
] as const;
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** Longest life of a token that a rule may allow, in seconds. A token cannot be revoked. */
export const TOKEN_LIFE_MAX_SEC = 3_600;
