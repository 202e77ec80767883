import { ISSUER_KEYS_MAX, type Issuer, type IssuerKey, IssuerUnavailable, isSafeUrl } from "../../ports/issuer.ts";
import type { Runtime } from "../../ports/runtime.ts";

/** Longest time for one document, in milliseconds. */
const DOCUMENT_MAX_MS = 5_000;
/** Largest document, in bytes. */
const DOCUMENT_MAX_BYTES = 256 * 1_024;
/** Time for which the address of the keys stays known, in milliseconds. */
const DISCOVERED_FOR_MS = 3_600_000;

/**
 * An issuer that is asked over HTTP: for its configuration (OpenID Connect Discovery 1.0), which names the address of its keys,
 * and for the keys. The configuration is asked for again after an hour, and after a failure.
 */
export class OidcIssuer implements Issuer {
  readonly url: string;
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  #keysUrl: { url: string; atMs: number } | null = null;

  constructor(url: string, runtime: Pick<Runtime, "monotonicMs">) {
    this.url = url;
    this.#runtime = runtime;
  }

  async keys(): Promise<readonly IssuerKey[]> {
    try {
      const url = await this.#discovered();
      const { keys } = await documentOf(url);
      if (!Array.isArray(keys) || !keys.every(isKey)) throw new IssuerUnavailable(`${url}: it is no set of keys`);
      if (keys.length > ISSUER_KEYS_MAX)
        throw new IssuerUnavailable(`${url}: it has ${keys.length} keys, and ${ISSUER_KEYS_MAX} are allowed`);
      return keys;
    } catch (error) {
      this.#keysUrl = null;
      throw error;
    }
  }

  async #discovered(): Promise<string> {
    const atMs = this.#runtime.monotonicMs();
    if (this.#keysUrl !== null && atMs - this.#keysUrl.atMs < DISCOVERED_FOR_MS) return this.#keysUrl.url;
    const from = `${this.url.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const { issuer, jwks_uri: url } = await documentOf(from);
    if (issuer !== this.url)
      throw new IssuerUnavailable(`${from}: it is the configuration of another issuer than ${this.url}`);
    if (typeof url !== "string" || !isSafeUrl(url))
      throw new IssuerUnavailable(`${from}: jwks_uri must be an https address`);
    this.#keysUrl = { url, atMs };
    return url;
  }
}

function isKey(key: unknown): key is IssuerKey {
  if (typeof key !== "object" || key === null || Array.isArray(key)) return false;
  return !("kid" in key) || typeof key.kid === "string";
}

/** @throws {IssuerUnavailable} */
async function documentOf(url: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    const signal = AbortSignal.timeout(DOCUMENT_MAX_MS);
    const answer = await fetch(url, { redirect: "error", signal, headers: { accept: "application/json" } });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      throw new IssuerUnavailable(`${url}: it answered ${answer.status}`);
    }
    text = await bounded(answer, url);
  } catch (error) {
    if (error instanceof IssuerUnavailable) throw error;
    throw new IssuerUnavailable(`${url}: ${causeOf(error)}`, { cause: error });
  }
  const document = parsed(text);
  if (document === null) throw new IssuerUnavailable(`${url}: it answered no JSON object`);
  return document;
}

async function bounded({ body }: Response, url: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > DOCUMENT_MAX_BYTES)
      throw new IssuerUnavailable(`${url}: it is larger than ${DOCUMENT_MAX_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

/** Message of an error of `fetch`, whose own one only says that it failed. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
