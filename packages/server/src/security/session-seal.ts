import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { SESSION_MAX_SEC } from "@mainspring/contract/limits";
import type { Runtime } from "../ports/runtime.ts";

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Longest sealed session that is opened, in characters. Browsers keep no longer cookie. */
const SEALED_CHARS_MAX = 4_096;

/**
 * Seals credentials into sessions of browsers, and opens them. A session holds the credential itself, encrypted, so the server keeps
 * nothing, and the session ends with the credential. Nodes with one secret open each other's sessions.
 */
export class SessionSeal {
  readonly #keys: readonly Buffer[];
  readonly #runtime: Pick<Runtime, "now">;

  /** @param secrets of the cluster, the one in use first; none: a random one, which no other process has */
  constructor(secrets: readonly string[], runtime: Pick<Runtime, "now">) {
    const sources = secrets.length === 0 ? [randomBytes(32)] : secrets;
    this.#keys = sources.map((secret) => Buffer.from(hkdfSync("sha256", secret, "", "mainspring session", 32)));
    this.#runtime = runtime;
  }

  seal(credential: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys[0] as Buffer, iv, { authTagLength: TAG_BYTES });
    const endsAt = this.#runtime.now() + SESSION_MAX_SEC * 1_000;
    const sealed = Buffer.concat([cipher.update(`${endsAt} ${credential}`), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Credential of a session; null: the session is over, or another secret has sealed it. */
  open(sealed: string): string | null {
    if (sealed.length > SEALED_CHARS_MAX) return null;
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length <= IV_BYTES + TAG_BYTES) return null;
    for (const key of this.#keys) {
      const text = opened(key, bytes);
      if (text === null) continue;
      const [endsAt = "", credential = ""] = text.split(" ", 2);
      return Number(endsAt) > this.#runtime.now() ? credential : null;
    }
    return null;
  }
}

function opened(key: Buffer, bytes: Buffer): string | null {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString();
  } catch {
    return null;
  }
}
