import type { ApiKeyKind, Scope } from "../domain/api-key.ts";
import type { TenantState } from "../domain/tenant.ts";

declare const tenantBrand: unique symbol;
/** Name of a tenant that the security module has taken from a credential. Nothing else makes one. */
export type Tenant = string & { readonly [tenantBrand]: true };

/** The caller of a request or of a worker's connection. */
export interface Principal {
  /**
   * Id of the API key; `environment` or `environment-also`: the keys of the settings; `oidc:` and the subject: a token;
   * `loopback`: the server asks for no key.
   */
  readonly keyId: string;
  /** Id of the first key of a row of rotations, of which this one is the last; left out: that of the key. */
  readonly line?: string;
  /** Origin of the credential. OPEN: the server asks for none. TOKEN: an issuer of tokens. */
  readonly source: "OPEN" | "SETTINGS" | "STORE" | "TOKEN";
  readonly kind: ApiKeyKind;
  readonly tenant: Tenant;
  readonly scopes: ReadonlySet<Scope>;
  /** Names of pools that it may serve, in which `*` stands for any characters. */
  readonly pools: readonly string[];
  /** Key id that the certificate of a worker with the key must name; null or left out: no certificate is needed. */
  readonly certificateId?: string | null;
}

/**
 * Reason why a credential is refused. UNAUTHENTICATED: it is missing, wrong, expired or revoked, so a repeat fails, too.
 * TOO_MANY_TRIES: the address has sent too many wrong ones. UNAVAILABLE: the server cannot tell now.
 */
export interface Refusal {
  readonly code: "UNAUTHENTICATED" | "TOO_MANY_TRIES" | "UNAVAILABLE";
  /** The reason, and what to do. It does not contain the credential. */
  readonly detail: string;
  /** Whether the credential is a token, whose client learns by a standard error that it needs another one. */
  readonly isToken?: true;
}

/** Use of the API that lasts, such as an open stream. */
export interface HeldUse {
  readonly principal: Principal;
  /** Called once when the credential of the principal is no longer good. */
  end(refusal: Refusal): void;
}

/** Tells who sends a request, by its credential. */
export interface Authenticator {
  /**
   * Whether requests without a credential come from the operator. Callers must then make sure that such a request comes
   * from this machine.
   */
  readonly isOpen: boolean;
  /**
   * Judges a credential. Never throws.
   * @param authorization header or metadata of this name; undefined: there is none
   * @param address of the caller, for the limit of wrong credentials
   */
  judge(authorization: string | undefined, address: string): Principal | Refusal | Promise<Principal | Refusal>;
  /**
   * The same caller, who acts for a tenant. Callers of this method make sure that the principal may do so.
   * @returns null: there is no such tenant
   */
  actingFor(principal: Principal, tenant: string): Principal | null;
  /** State of the principal's tenant; null: there is no such tenant any more. */
  stateOf(principal: Principal): TenantState | null;
  /** Judges the credential of a principal again. @returns null: it is still good */
  judgeAgain(principal: Principal): Refusal | null;
  /** Ends a use as soon as the credential of its principal is no longer good. @returns function that forgets the use */
  hold(use: HeldUse): () => void;
}

export function isRefusal(judged: Principal | Refusal): judged is Refusal {
  return "code" in judged;
}
