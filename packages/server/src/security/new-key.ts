import { randomBytes } from "node:crypto";
import {
  EVERY_POOL,
  KEY_ALPHABET,
  KEY_RANDOM_CHARS,
  KINDS_OF_OPERATORS,
  keyHint,
  keyText,
  SCOPES_OF,
} from "../domain/api-key.ts";
import type { Tenant } from "../ports/authenticator.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { ApiKey, NewApiKey } from "../ports/store-keys.ts";
import { digestOf } from "./settings-keys.ts";

/** A key that is asked for. */
export interface KeyRequest extends Pick<ApiKey, "kind" | "name" | "createdBy" | "expiresAt"> {
  /** Tenant of the key, unless it is one of operators. */
  tenant: Tenant;
  /** Left out: all scopes of the kind. */
  scopes?: ApiKey["scopes"] | undefined;
  /** Left out: every pool, if the key may serve any. */
  pools?: readonly string[] | undefined;
  /** Whether workers with the key need a certificate; left out: they need none. */
  requireCert?: boolean | undefined;
}

/** Largest multiple of the alphabet's length in a byte. A byte from there on would make the first characters more likely. */
const FAIR_BYTES = 256 - (256 % KEY_ALPHABET.length);

/** Makes a key. @returns the key as the store keeps it, and its text, which nothing keeps */
export function newKey(
  { tenant, requireCert = false, ...asked }: KeyRequest,
  runtime: Runtime,
): { key: NewApiKey; text: string } {
  const id = runtime.uuid();
  const { kind, scopes = SCOPES_OF[kind] } = asked;
  const pools = scopes.includes("worker:serve") ? (asked.pools ?? EVERY_POOL) : [];
  const whose = KINDS_OF_OPERATORS.includes(kind) ? null : tenant;
  const certificateId = requireCert ? id : null;
  return written({
    ...{ ...asked, id, tenant: whose, scopes, pools, certificateId },
    ...{ createdAt: runtime.now(), replaces: null },
  });
}

/** Makes the successor of a key, which has its rights and its expiry, and needs the same certificate. */
export function successorOf(former: ApiKey, createdBy: string, runtime: Runtime): { key: NewApiKey; text: string } {
  const { tenant, kind, scopes, pools, certificateId, name, expiresAt, id: replaces } = former;
  const rights = { tenant, kind, scopes, pools, certificateId, name, expiresAt };
  return written({ ...rights, id: runtime.uuid(), createdBy, createdAt: runtime.now(), replaces });
}

function written(key: Omit<NewApiKey, "hash" | "hint">): { key: NewApiKey; text: string } {
  const text = keyText(key.kind, randomText());
  return { key: { ...key, hint: keyHint(text), hash: digestOf(text).toString("base64") }, text };
}

function randomText(): string {
  let text = "";
  while (text.length < KEY_RANDOM_CHARS) {
    for (const byte of randomBytes(KEY_RANDOM_CHARS)) {
      if (byte < FAIR_BYTES && text.length < KEY_RANDOM_CHARS) text += KEY_ALPHABET.charAt(byte % KEY_ALPHABET.length);
    }
  }
  return text;
}
