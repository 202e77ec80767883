/** Keeps the end of an output, however long the output gets. */
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
    // The kept part is cut at intervals, because cutting at each chunk would copy all of it each time.
    if (this.#keptBytes > 2 * this.#maxBytes) this.#cut();
  }

  /** Number of bytes that are missing at the beginning. */
  get droppedBytes(): number {
    return Math.max(0, this.#seenBytes - this.#maxBytes);
  }

  /** Text of the kept part. Invalid UTF-8, and a character that was cut in two, are replaced. */
  text(): string {
    return this.#cut().toString("utf8");
  }

  #cut(): Buffer {
    // The copy keeps the end of a large chunk from keeping all of it in memory.
    const kept = Buffer.from(Buffer.concat(this.#chunks).subarray(-this.#maxBytes));
    this.#chunks = [kept];
    this.#keptBytes = kept.length;
    return kept;
  }
}
