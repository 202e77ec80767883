/** The end of an output, however long it gets. */
export class KeptTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  #seenBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#keptBytes += chunk.length;
    this.#seenBytes += chunk.length;
    // Cut only now and then: cutting at each chunk would copy all that is kept each time.
    if (this.#keptBytes > 2 * this.#maxBytes) this.#cut();
  }

  /** How much is missing at its beginning. */
  get droppedBytes(): number {
    return Math.max(0, this.#seenBytes - this.#maxBytes);
  }

  /** Replaces invalid UTF-8, and a character that was cut in two. */
  text(): string {
    return this.#cut().toString("utf8");
  }

  #cut(): Buffer {
    // A copy, so that the kept end of a large chunk does not keep all of it.
    const kept = Buffer.from(Buffer.concat(this.#chunks).subarray(-this.#maxBytes));
    this.#chunks = [kept];
    this.#keptBytes = kept.length;
    return kept;
  }
}
