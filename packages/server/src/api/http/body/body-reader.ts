import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { DEPTH_MAX } from "@mainspring/contract/limits";
import { ProblemError, problem } from "../errors.ts";
import type { BodyShare } from "./body-budget.ts";
import { malformed, malformedBecause } from "./json-body.ts";
import type { BodyParts } from "./json-parts.ts";
import { JsonFault, JsonScanner } from "./json-scanner.ts";

/** A body that has arrived completely and is valid JSON. */
export interface ReceivedBody {
  bytes: Buffer;
  parts: BodyParts;
  /**
   * Hash in hexadecimal, which a repeat with the same idempotency key must match; null: the request has no such key.
   */
  hash: string | null;
}

interface BodyTerms {
  limitBytes: number;
  parts: BodyParts;
  share: BodyShare;
  /** Text that precedes the body in the hash; null: no hash is needed. */
  hashed: string | null;
}

/** Text that is hashed before a body, so that a request with the same key on another path is not taken for a repeat. */
export function hashedLine(path: string): string {
  return `POST ${path}\n`;
}

/** Hash of a request whose path has parameters, which belong to the request. @param bytes body; null: none */
export function hashOf(path: string, bytes: Uint8Array | null): string {
  const hash = createHash("sha256").update(hashedLine(path));
  return (bytes === null ? hash : hash.update(bytes)).digest("hex");
}

const FIRST_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * Reads a body as it arrives: counts, validates and hashes it piece by piece. No body blocks the event loop for longer
 * than one piece takes, and an invalid body is refused at its first wrong byte.
 */
export class BodyReader {
  readonly #terms: BodyTerms;
  readonly #scanner: JsonScanner;
  readonly #hash: Hash | null;
  #bytes: Buffer = EMPTY;
  #length = 0;
  /** Number of bytes that are known to be UTF-8. */
  #utf8Until = 0;

  constructor(terms: BodyTerms) {
    this.#terms = terms;
    this.#scanner = new JsonScanner(DEPTH_MAX + terms.parts.depth, terms.parts, WATCHED_DEPTH);
    this.#hash = terms.hashed === null ? null : createHash("sha256").update(terms.hashed);
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Takes the next piece. @throws {ProblemError} the body is refused; do not call again */
  take(piece: Buffer): void {
    if (this.#length + piece.length > this.#terms.limitBytes) {
      throw tooLarge();
    }
    this.#append(piece);
    this.#hash?.update(piece);
    this.#checkUtf8(characterEnd(this.#bytes, this.#length));
    this.#scan(() => this.#scanner.scan(this.#bytes, this.#length));
  }

  /** Ends the body. @throws {ProblemError} the body is not complete */
  end(): ReceivedBody {
    this.#checkUtf8(this.#length);
    this.#scan(() => this.#scanner.end());
    const bytes = this.#bytes.subarray(0, this.#length);
    return { bytes, parts: this.#terms.parts, hash: this.#hash?.digest("hex") ?? null };
  }

  #append(piece: Buffer): void {
    const wanted = this.#length + piece.length;
    if (this.#length === 0) {
      this.#terms.share.growTo(piece.length);
      // The piece is copied, because it is a view of shared memory.
      this.#bytes = Buffer.from(piece);
    } else {
      if (wanted > this.#bytes.length) this.#grow(wanted);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = wanted;
  }

  /** Doubles the buffer each time, so that at most half of a body is copied at once. */
  #grow(wanted: number): void {
    const size = Math.min(Math.max(wanted, 2 * this.#bytes.length, FIRST_BYTES), this.#terms.limitBytes);
    this.#terms.share.growTo(size);
    const grown = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }

  #checkUtf8(until: number): void {
    if (!isUtf8(this.#bytes.subarray(this.#utf8Until, until))) {
      throw malformedBecause(`${this.#terms.parts.what()} is not valid UTF-8`);
    }
    this.#utf8Until = until;
  }

  #scan(scan: () => void): void {
    try {
      scan();
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
      throw malformed(this.#terms.parts.what(), error, this.#bytes.subarray(0, this.#length));
    }
  }
}

/** Depth of the members of a batch's jobs. */
const WATCHED_DEPTH = 3;

/** End of the last complete character; up to three bytes of another one may follow in the next piece. */
function characterEnd(bytes: Buffer, length: number): number {
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] as number;
    if (byte < 0x80) return length;
    if (byte >= 0xc0) return back < sequenceLength(byte) ? length - back : length;
  }
  return length;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}

export function tooLarge(): ProblemError {
  return new ProblemError(problem("payload-too-large", "the body is larger than this route takes"));
}
