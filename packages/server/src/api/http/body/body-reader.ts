import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { DEPTH_MAX } from "@mainspring/contract/limits";
import type { BodyShare } from "./body-budget.ts";
import { ProblemError, problem } from "./errors.ts";
import { malformed, malformedBecause } from "./json-body.ts";
import type { BodyParts } from "./json-parts.ts";
import { JsonFault, JsonScanner } from "./json-scanner.ts";

/** A body that has come in and is JSON. */
export interface ReceivedBody {
  bytes: Buffer;
  parts: BodyParts;
  /** Hash in hexadecimal that a repeat by idempotency key must have as well; null: the request has no such key. */
  hash: string | null;
}

interface BodyTerms {
  limitBytes: number;
  parts: BodyParts;
  share: BodyShare;
  /** Text at the beginning of the hashed content; null: no hash is wanted. */
  hashed: string | null;
}

const FIRST_BYTES = 64 * 1024;

/**
 * Takes a body in as it arrives: counts it, proves it and hashes it piece by piece, so that no body holds the event loop for
 * longer than a piece of it takes, and a bad one is refused at its first bad byte.
 */
export class BodyReader {
  readonly #terms: BodyTerms;
  readonly #scanner: JsonScanner;
  readonly #hash: Hash | null;
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Up to here it is known to be UTF-8. */
  #utf8Until = 0;

  constructor(terms: BodyTerms) {
    this.#terms = terms;
    this.#scanner = new JsonScanner(DEPTH_MAX + terms.parts.depth, terms.parts, WATCHED_DEPTH);
    this.#hash = terms.hashed === null ? null : createHash("sha256").update(terms.hashed);
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** @throws {ProblemError} the body is refused; nothing more is to be given */
  take(piece: Buffer): void {
    if (this.#length + piece.length > this.#terms.limitBytes) {
      throw tooLarge();
    }
    this.#append(piece);
    this.#hash?.update(piece);
    this.#checkUtf8(characterEnd(this.#bytes, this.#length));
    this.#scan(() => this.#scanner.scan(this.#bytes, this.#length));
  }

  /** @throws {ProblemError} the body is not complete */
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
      // A copy: the piece is a view of memory that others share.
      this.#bytes = Buffer.from(piece);
    } else {
      if (wanted > this.#bytes.length) this.#grow(wanted);
      piece.copy(this.#bytes, this.#length);
    }
    this.#length = wanted;
  }

  /** Doubled each time, so that no more than half of a body is ever copied at once. */
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

/** The members of a job of a batch. */
const WATCHED_DEPTH = 3;

/** Where the last character that is complete ends: of up to three bytes the rest may be still to come. */
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
