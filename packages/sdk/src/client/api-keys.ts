import type { ReadOptions, Requests } from "./requests.ts";

export type ApiKeyKind = "CLIENT" | "WORKER" | "READER" | "TENANT_ADMIN" | "OPERATOR" | "METRICS";
/** Right of a key. */
export type ApiKeyScope =
  | "jobs:submit"
  | "jobs:write"
  | "jobs:read"
  | "runs:control"
  | "tenant:admin"
  | "worker:serve"
  | "metrics:read"
  | "system:admin"
  | "tenants:act";

/** An API key that is asked for. */
export interface ApiKeyRequest {
  /** The first key of a store must be of the kind OPERATOR. */
  kind: ApiKeyKind;
  /** For people, 1 to 255 characters. */
  name: string;
  /** Fewer scopes than those of the kind; default: all of them. */
  scopes?: readonly ApiKeyScope[];
  /** Pools that workers with the key may serve, in which `*` stands for any characters; default: every pool. */
  pools?: readonly string[];
  /**
   * Whether a worker with the key must show a certificate with the alternative name `URI:mainspring://CLUSTER/worker/KEY_ID`; only
   * for the kind WORKER. Default: false.
   */
  requireCert?: boolean;
  /** ISO 8601 time until which the key is good; default: it does not expire. */
  expiresAt?: string;
  /** Tenant of the key, which only operators name; default: the tenant for which the client acts. */
  tenant?: string;
}

/** An API key, without its text. */
export interface ApiKeyInfo {
  keyId: string;
  kind: ApiKeyKind;
  /** null: the key is one of operators. */
  tenant: string | null;
  name: string;
  /** Beginning and end of the key. */
  hint: string;
  scopes: ApiKeyScope[];
  /** null: the key serves no pools. */
  pools: string[] | null;
  /** Key id that the certificate of a worker must name: this one's, or that of a key it replaces; null: none is needed. */
  certificateId: string | null;
  state: "ACTIVE" | "EXPIRED" | "REVOKED";
  createdAt: string;
  /** `keyId` of the caller that created it. */
  createdBy: string;
  /** null: it does not expire. */
  expiresAt: string | null;
  /** null: it is not revoked. */
  revokedAt: string | null;
  /** Last use, to the minute; null: none. */
  lastUsedAt: string | null;
  /** Key whose rotation created this one; null: none. */
  replaces: string | null;
}

/** A new API key. */
export interface CreatedApiKey extends ApiKeyInfo {
  /** The key itself, which no other answer has. */
  key: string;
}

/** Caller of a request. */
export interface Me {
  /** Id of the key; `environment` or `environment-also`: a key of the server's settings; `loopback`: the server asks for no key. */
  keyId: string;
  kind: ApiKeyKind;
  tenant: string;
  scopes: ApiKeyScope[];
  /** null: the key serves no pools. */
  pools: string[] | null;
}

/** API keys. Every method throws `MainspringError`: FORBIDDEN, if the key of the client lacks the scope `tenant:admin`. */
export class ApiKeys {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Lists keys, also those that are expired or revoked, for 90 days. The client fetches each page when the caller gets to it. */
  list(): AsyncGenerator<ApiKeyInfo, void, undefined> {
    return this.#requests.pages<ApiKeyInfo>("/v1/api-keys", {});
  }

  get(keyId: string, options: ReadOptions = {}): Promise<ApiKeyInfo> {
    return this.#requests.get(pathOf(keyId), options);
  }

  /**
   * Creates a key. @returns the key with its text, which no other answer has
   * @throws {MainspringError} CONFLICT: a node of the cluster is too old, or the first key is not of the kind OPERATOR
   */
  create(key: ApiKeyRequest, options: ReadOptions = {}): Promise<CreatedApiKey> {
    return this.#requests.send("POST", "/v1/api-keys", key, false, options);
  }

  /** Revokes a key, for good. Within two seconds no server takes it, and its streams and workers are disconnected. */
  revoke(keyId: string, options: ReadOptions = {}): Promise<ApiKeyInfo> {
    return this.#requests.send("DELETE", pathOf(keyId), undefined, true, options);
  }

  /**
   * Creates the successor of a key, with the same rights.
   * @param options `overlapSec`: seconds for which the former key is good, too, 0 to 2_592_000; default: a day
   * @throws {MainspringError} CONFLICT: the key is revoked or expired
   */
  rotate(
    keyId: string,
    { overlapSec, ...options }: ReadOptions & { overlapSec?: number } = {},
  ): Promise<CreatedApiKey> {
    const body = overlapSec === undefined ? {} : { overlapSec };
    return this.#requests.send("POST", `${pathOf(keyId)}/rotate`, body, false, options);
  }
}

function pathOf(keyId: string): string {
  return `/v1/api-keys/${encodeURIComponent(keyId)}`;
}
