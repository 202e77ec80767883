/**
 * Checks whether bytes are one JSON value (RFC 8259) without building the value. Every result is checked, and
 * JSON.parse would take many times the memory of the text. UTF-8 is checked elsewhere.
 */

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const LITERALS = new Map(
  [..."tfn"].map((first, i) => [first.charCodeAt(0), codes(["true", "false", "null"][i] ?? "")]),
);
const ESCAPES = new Set(codes('"\\/bfnrt'));

/**
 * Finds the first fault of a JSON text.
 * @param depthMax deepest allowed nesting of arrays and objects; 0 for a number, 1 for `[]`
 * @returns null: the bytes are one JSON value; else the fault, with the byte at which it shows, from 0
 */
export function jsonFault(bytes: Uint8Array, depthMax: number): string | null {
  return new JsonScan(bytes, depthMax).fault();
}

class JsonScan {
  readonly #bytes: Uint8Array;
  readonly #depthMax: number;
  #at = 0;
  /** The closing byte of each open array and object. */
  readonly #closing: number[] = [];

  constructor(bytes: Uint8Array, depthMax: number) {
    this.#bytes = bytes;
    this.#depthMax = depthMax;
  }

  fault(): string | null {
    do {
      if (!this.#value()) return this.#complaint();
    } while (this.#follows());
    const isWhole = this.#closing.length === 0 && this.#space() === undefined;
    return isWhole ? null : this.#complaint();
  }

  #complaint(): string {
    if (this.#closing.length > this.#depthMax) return `it is nested deeper than ${this.#depthMax} levels`;
    if (this.#at >= this.#bytes.length) return "it ends too early";
    return `look at byte ${this.#at}`;
  }

  /** Reads a value. For an array or object, reads its opening and everything up to its first value. */
  #value(): boolean {
    for (;;) {
      const byte = this.#space();
      if (byte === QUOTE) return this.#string();
      if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET)
        return byte !== undefined && byte > NINE ? this.#literal(byte) : this.#number();
      const closing = byte + 2;
      this.#at++;
      if (this.#closing.push(closing) > this.#depthMax) return false;
      if (this.#space() === closing) return true;
      if (closing === CLOSE_BRACE && !this.#key()) return false;
    }
  }

  /**
   * Reads what follows a value, and closes arrays and objects that end there.
   * @returns whether another value must follow
   */
  #follows(): boolean {
    for (let depth = this.#closing.length; depth > 0; depth--) {
      const byte = this.#space();
      const closing = this.#closing[depth - 1];
      if (byte === COMMA) {
        this.#at++;
        return closing === CLOSE_BRACKET || this.#key();
      }
      if (byte !== closing) return false;
      this.#at++;
      this.#closing.pop();
    }
    return false;
  }

  #key(): boolean {
    if (this.#space() !== QUOTE || !this.#string() || this.#space() !== COLON) return false;
    this.#at++;
    return true;
  }

  #string(): boolean {
    const bytes = this.#bytes;
    for (let at = this.#at + 1; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (byte === BACKSLASH) at = this.#escape(at);
      else if (byte < 0x20) at = -1;
      if (at < 0) return false;
    }
    this.#at = bytes.length;
    return false;
  }

  /** @returns where the escape ends; -1: it is not an escape */
  #escape(at: number): number {
    const kind = this.#bytes[at + 1] ?? 0;
    if (ESCAPES.has(kind)) return at + 1;
    if (kind !== 0x75) return -1;
    for (let i = 2; i < 6; i++) if (!isHex(this.#bytes[at + i] ?? 0)) return -1;
    return at + 5;
  }

  #literal(first: number): boolean {
    const wanted = LITERALS.get(first);
    if (wanted === undefined) return false;
    for (let i = 1; i < wanted.length; i++) if (this.#bytes[this.#at + i] !== wanted[i]) return false;
    this.#at += wanted.length;
    return true;
  }

  #number(): boolean {
    if (this.#bytes[this.#at] === MINUS) this.#at++;
    if (this.#bytes[this.#at] === ZERO) this.#at++;
    else if (!this.#digits()) return false;
    const next = this.#bytes[this.#at];
    if (next === undefined || next === COMMA) return true;
    if (next === DOT) {
      this.#at++;
      if (!this.#digits()) return false;
    }
    if (((this.#bytes[this.#at] ?? 0) | 0x20) !== 0x65) return true;
    this.#at++;
    const sign = this.#bytes[this.#at];
    if (sign === PLUS || sign === MINUS) this.#at++;
    return this.#digits();
  }

  /** Reads digits, at least one. */
  #digits(): boolean {
    const from = this.#at;
    let byte = this.#bytes[this.#at] ?? 0;
    while (byte >= ZERO && byte <= NINE) byte = this.#bytes[++this.#at] ?? 0;
    return this.#at > from;
  }

  /** @returns the first byte that is no white space; undefined: the end */
  #space(): number | undefined {
    let byte = this.#bytes[this.#at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = this.#bytes[++this.#at];
    return byte;
  }
}

function isHex(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= ZERO && byte <= NINE) || (lower >= 0x61 && lower <= 0x66);
}

function codes(text: string): number[] {
  return Array.from(text, (char) => char.charCodeAt(0));
}
