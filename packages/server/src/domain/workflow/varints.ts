/** The bytes are not those that a `ByteWriter` wrote. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

/** Continuation bit of a byte: another byte of the number follows. */
const MORE = 0x80;
/** Largest number in the bytes; four bytes. */
const NUMBER_MAX = 2 ** 28 - 1;

/** Writes numbers of 0 to 2^28 - 1 as varints: 7 bits a byte, the lowest first. */
export class ByteWriter {
  #bytes = new Uint8Array(1_024);
  #length = 0;

  number(value: number): void {
    let rest = value;
    for (; rest >= MORE; rest >>>= 7) this.#byte((rest & (MORE - 1)) | MORE);
    this.#byte(rest);
  }

  /** Writes the length and the characters of an ASCII text. */
  text(ascii: string): void {
    this.number(ascii.length);
    for (let i = 0; i < ascii.length; i++) this.#byte(ascii.charCodeAt(i));
  }

  /** A copy of everything that was written. */
  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #byte(value: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = value;
  }
}

/** Reads bytes of a `ByteWriter`. Every method throws `Malformed` for other bytes, longer forms of a number among them. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  number(max = NUMBER_MAX): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new Malformed("the bytes end too early");
      value |= (byte & (MORE - 1)) << shift;
      if (byte >= MORE) continue;
      if (byte === 0 && shift > 0) throw new Malformed(`the number at byte ${this.#at - 1} has a shorter form`);
      if (value > max) throw new Malformed(`${value} at byte ${this.#at - 1} is more than ${max}`);
      return value;
    }
    throw new Malformed(`the number at byte ${this.#at} is too large`);
  }

  /** Number of items that follow. Each takes a byte or more, so that a false number cannot ask for much memory. */
  count(max = NUMBER_MAX): number {
    const count = this.number(max);
    if (count > this.#bytes.length - this.#at) throw new Malformed("the bytes end too early");
    return count;
  }

  /** @param max longest text, in characters */
  text(max: number): string {
    const length = this.count(max);
    this.#at += length;
    return String.fromCharCode(...this.#bytes.subarray(this.#at - length, this.#at));
  }

  /** Checks that all bytes were read. */
  end(): void {
    if (this.#at < this.#bytes.length) throw new Malformed("the bytes do not end where the graph does");
  }
}
