/** Fields of proto3 into one buffer; what has its default value is left out, as the format asks. */
export class Writer {
  /** A number was met that cannot be written here, and what was written is worth nothing: generated code judges it then. */
  isOdd = false;
  #buffer: Buffer;
  #at = 0;

  /** @param bytes about how much will be written; it grows where that is too little */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes);
  }

  /** @param value odd unless it is a whole number from 0 to 2^53 - 1 */
  number(field: number, value: number): void {
    if (value === 0) return;
    if (!Number.isSafeInteger(value) || value < 0) {
      this.isOdd = true;
      return;
    }
    this.#reserve(12);
    this.#buffer[this.#at++] = field << 3;
    this.#varint(value);
  }

  text(field: number, value: string): void {
    if (value === "") return;
    this.#reserve(12 + 3 * value.length);
    this.#buffer[this.#at++] = (field << 3) | 2;
    const start = this.#at++;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) {
        this.#at = start + 1 + this.#buffer.write(value, start + 1, "utf8");
        break;
      }
      this.#buffer[this.#at++] = code;
    }
    this.#setLength(start);
  }

  bytes(field: number, value: Uint8Array): void {
    if (value.length === 0) return;
    this.#reserve(12 + value.length);
    this.#buffer[this.#at++] = (field << 3) | 2;
    this.#varint(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  /** @returns what `end` takes when the message within is written */
  begin(field: number): number {
    this.#reserve(12);
    this.#buffer[this.#at++] = (field << 3) | 2;
    return this.#at++;
  }

  end(start: number): void {
    this.#reserve(12);
    this.#setLength(start);
  }

  get written(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  /** Mostly one byte, and one was left free for it; what is longer moves what follows it. */
  #setLength(start: number): void {
    const length = this.#at - start - 1;
    if (length < 0x80) {
      this.#buffer[start] = length;
      return;
    }
    const end = this.#at;
    const content = Buffer.from(this.#buffer.subarray(start + 1, end));
    this.#at = start;
    this.#varint(length);
    this.#buffer.set(content, this.#at);
    this.#at += length;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 0x7fffffff) {
      this.#buffer[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      this.#buffer[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#at++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    larger.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = larger;
  }
}
