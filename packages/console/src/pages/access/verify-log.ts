import type { AuditAnchorBody, AuditRecordBody } from "@mainspring/contract";
import {
  type AuditAnchor,
  type AuditFault,
  type AuditRecord,
  AuditVerifier,
  anchorText,
  firstFault,
  inMs,
  recordText,
} from "@mainspring/contract/audit-log";
import type { Page } from "../../api/answers.ts";
import { ask, queryOf } from "../../api/client.ts";

/** Records and anchors of one request. */
const PAGE_ITEMS = 1_000;
/** Records that a page reads at most. */
export const RECORDS_MAX = 100_000;

/** A text that is no public key. */
export class NoPublicKey extends Error {
  override readonly name = "NoPublicKey";
}

interface Asked {
  /** Public key in PEM; empty: signatures are not verified. */
  key: string;
  /** Anchors that the user kept elsewhere. */
  kept: readonly AuditAnchor[];
  signal: AbortSignal;
  /** Told with the number of records that were read so far. */
  tell(records: number): void;
}

export interface Verified {
  records: number;
  chains: number;
  anchors: number;
  /** Whether all records were read. Otherwise missing ends of chains are not looked for. */
  isWhole: boolean;
  fault: AuditFault | null;
}

/**
 * Verifies the audit log as the server tells it, by the code of `mainspring audit verify`.
 * @throws {RequestFailed} @throws {NoPublicKey}
 */
export async function verifyLog({ key, kept, signal, tell }: Asked): Promise<Verified> {
  const digests = new Digests();
  const publicKey = key.trim() === "" ? null : await publicKeyIn(key);
  const signed = new Set<string>();
  const verifier = new AuditVerifier({
    digest: (text) => digests.of(text),
    isSigned: publicKey && (({ hash, signature }) => signed.has(`${hash} ${signature}`)),
  });
  for (const anchor of kept) await digests.add([anchorText(anchor)]);
  let isWhole = true;
  const anchors = async function* () {
    for await (const page of pagesOf<AuditAnchorBody>("audit/anchors", signal)) {
      const read = page.map(inMs) as AuditAnchor[];
      await digests.add(read.map(anchorText));
      if (publicKey !== null) await Promise.all(read.map((anchor) => addSigned(signed, publicKey, anchor)));
      yield* read;
    }
  };
  const records = async function* () {
    for await (const page of pagesOf<AuditRecordBody>("audit/records", signal)) {
      if (verifier.records >= RECORDS_MAX) {
        isWhole = false;
        return;
      }
      const read = page.map(inMs) as AuditRecord[];
      digests.clear();
      await digests.add(read.map(recordText));
      yield* read;
      tell(verifier.records);
    }
  };
  const fault = await firstFault(verifier, { anchors: anchors(), kept, records: records() }, () => isWhole);
  return { records: verifier.records, chains: verifier.chains, anchors: verifier.anchors, isWhole, fault };
}

async function* pagesOf<T>(path: string, signal: AbortSignal): AsyncGenerator<T[]> {
  for (let cursor: string | undefined; ; ) {
    const query = queryOf({ limit: PAGE_ITEMS, cursor });
    const { items, nextCursor } = await ask<Page<T>>(`${path}${query}`, { signal });
    yield items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

/** Digests of texts, which the browser computes asynchronously, before the verifier asks for them. */
class Digests {
  readonly #known = new Map<string, string>();

  async add(texts: readonly string[]): Promise<void> {
    const found = await Promise.all(texts.map(sha256));
    for (const [place, text] of texts.entries()) this.#known.set(text, found[place] as string);
  }

  clear(): void {
    this.#known.clear();
  }

  of(text: string): string {
    const digest = this.#known.get(text);
    if (digest === undefined) throw new Error("the digest of a text was not computed");
    return digest;
  }
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function addSigned(signed: Set<string>, key: CryptoKey, { hash, signature }: AuditAnchor): Promise<void> {
  const bytes = signature === null ? null : bytesOf(signature);
  if (bytes === null) return;
  const isGood = await crypto.subtle.verify("Ed25519", key, bytes, new TextEncoder().encode(hash));
  if (isGood) signed.add(`${hash} ${signature}`);
}

/** @throws {NoPublicKey} the text is no public key of Ed25519, or the browser does not know Ed25519 */
async function publicKeyIn(pem: string): Promise<CryptoKey> {
  const [, base64 = ""] = /^-----BEGIN PUBLIC KEY-----([\s\S]+)-----END PUBLIC KEY-----$/.exec(pem.trim()) ?? [];
  const bytes = bytesOf(base64.replace(/\s/g, ""));
  if (bytes === null || bytes.length === 0) throw new NoPublicKey();
  try {
    return await crypto.subtle.importKey("spki", bytes, "Ed25519", false, ["verify"]);
  } catch {
    throw new NoPublicKey();
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
