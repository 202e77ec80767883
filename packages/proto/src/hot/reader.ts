/**
 * Reads fields of proto3 that are as `Writer` writes them. Any other input (a field that it was not asked for, a wrong
 * type, a text beyond ASCII, an end too early) makes it `isOdd`, and what it has read is worth nothing: generated code
 * judges it then.
 */
export class Reader {
  isOdd = false;
  /** Wire type of the last tag. */
  field = 0;
  readonly #buffer: Buffer;
  #at: number;
  #end: number;
  #isText = false;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#at = 0;
    this.#end = buffer.length;
  }

  /** Goes to the next field. @returns false: there is none, or something was odd */
  next(): boolean {
    if (this.isOdd || this.#at >= this.#end) return false;
    const tag = this.#buffer[this.#at++] as number;
    this.field = tag >> 3;
    const type = tag & 7;
    this.#isText = type === 2;
    if (tag > 0x7f || (type !== 0 && type !== 2)) this.isOdd = true;
    return !this.isOdd;
  }

  number(): number {
    if (this.#isText) this.isOdd = true;
    return this.#varint();
  }

  /** The number of a field of 32 bits; signed ones and enums read the highest bit differently. */
  number32(): number {
    const value = this.number();
    if (value > 0x7fffffff) this.isOdd = true;
    return value;
  }

  ascii(): string {
    const end = this.#endOfField();
    for (let i = this.#at; i < end; i++) if ((this.#buffer[i] as number) > 0x7f) this.isOdd = true;
    const text = this.#buffer.toString("latin1", this.#at, end);
    this.#at = end;
    return text;
  }

  /** A view, not a copy. */
  bytes(): Uint8Array {
    const end = this.#endOfField();
    const bytes = this.#buffer.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** Until `leave`, only fields of the message within are there. @returns what `leave` takes */
  enter(): number {
    const outer = this.#end;
    this.#end = this.#endOfField();
    return outer;
  }

  leave(outer: number): void {
    this.#end = outer;
  }

  odd(): void {
    this.isOdd = true;
  }

  #endOfField(): number {
    if (!this.#isText) this.isOdd = true;
    const length = this.#varint();
    const end = this.#at + length;
    if (end <= this.#end) return end;
    this.isOdd = true;
    return this.#at;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.#at < this.#end ? (this.#buffer[this.#at++] as number) : 0x80;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    // Longer than any that this protocol has a use for; negative numbers are.
    this.isOdd = true;
    return 0;
  }
}
