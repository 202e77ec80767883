/**
 * Validates JSON as its bytes arrive: as strict as JSON.parse, but in as many steps as the bytes take to arrive, and
 * without creating values. The scanner checks a client's payload, which the server never parses.
 */

/** Error: the text is no JSON at `at`, or is nested too deeply there. */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
  readonly kind: "SYNTAX" | "DEPTH";
  /** Position in bytes from the beginning; null: the text ends too early. */
  readonly at: number | null;

  constructor(kind: JsonFault["kind"], at: number | null) {
    super(`${kind} at ${at}`);
    this.kind = kind;
    this.at = at;
  }
}

/**
 * Receives the outer values of a text in order. A key comes before its value.
 * @param depth number of arrays and objects around the value: 0 is the whole text
 * @param end position after the value's last byte
 */
export interface JsonWatcher {
  key(json: Buffer, depth: number, start: number, end: number): void;
  value(json: Buffer, depth: number, start: number, end: number): void;
}

/** Bytes of a value, from `start` up to but not including `end`. */
export interface Slice {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** States as small integers, because a switch over these takes a third of the time. */
const STATE = {
  VALUE: 0,
  VALUE_OR_END: 1,
  KEY: 2,
  KEY_OR_END: 3,
  COLON: 4,
  AFTER_VALUE: 5,
  STRING: 6,
  ESCAPE: 7,
  HEX: 8,
  NUMBER: 9,
  WORD: 10,
  DONE: 11,
} as const;
type State = (typeof STATE)[keyof typeof STATE];

/** Parts of a number. A number may end with one of NUMBER_ENDS. */
type NumberPart = "MINUS" | "ZERO" | "WHOLE" | "DOT" | "FRACTION" | "E" | "SIGN" | "EXPONENT";
const NUMBER_ENDS: ReadonlySet<NumberPart> = new Set(["ZERO", "WHOLE", "FRACTION", "EXPONENT"]);
const WORDS = new Map([
  [0x74, Buffer.from("true")],
  [0x66, Buffer.from("false")],
  [0x6e, Buffer.from("null")],
]);
const ESCAPED = new Set(Buffer.from('"\\/bfnrtu'));
const EMPTY = Buffer.alloc(0);

export class JsonScanner {
  readonly #watcher: JsonWatcher;
  /** Depth below which the scanner does not report values. */
  readonly #watchedDepth: number;
  /**
   * Position of the first byte of each container around the present position; for an object, minus that and minus one.
   */
  readonly #open: number[] = [];
  readonly #depthMax: number;
  #depth = 0;
  #json: Buffer = EMPTY;
  #state: State = STATE.VALUE;
  #at = 0;
  /** Start of the present string, number or word. */
  #start = 0;
  #isKey = false;
  #hexLeft = 0;
  #part: NumberPart = "MINUS";
  #word: Buffer = EMPTY;
  /** Position after the last value or opened container, and the depth there. */
  #safeAt = 0;
  #safeDepth = 0;

  constructor(depthMax: number, watcher: JsonWatcher, watchedDepth: number) {
    this.#depthMax = depthMax;
    this.#watcher = watcher;
    this.#watchedDepth = watchedDepth;
  }

  /**
   * Continues where the last scan stopped.
   * @param json the text from its beginning; scanned bytes must be unchanged
   * @param until number of bytes that have arrived
   * @throws {JsonFault}
   */
  scan(json: Buffer, until: number): void {
    this.#json = json;
    while (this.#at < until) {
      // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all other states read one byte
      switch (this.#state) {
        case STATE.STRING:
          this.#passString(json, until);
          break;
        case STATE.ESCAPE:
          this.#passEscape(json);
          break;
        case STATE.HEX:
          this.#passHex(json);
          break;
        case STATE.NUMBER:
          this.#passNumber(json, until);
          break;
        case STATE.WORD:
          this.#passWord(json);
          break;
        default:
          this.#passMark(json[this.#at] as number);
      }
    }
  }

  /** Ends the text. @throws {JsonFault} the text is not complete */
  end(): void {
    if (this.#state === STATE.NUMBER && NUMBER_ENDS.has(this.#part)) this.#endValue(this.#at);
    if (this.#state !== STATE.DONE) throw new JsonFault("SYNTAX", null);
  }

  /**
   * The text up to this position, made complete: an unfinished string or number stays as far as it came, other
   * unfinished values are omitted, and open containers are closed. Only for a text whose scan has not failed.
   */
  closed(json: Buffer): string {
    const cut = this.#state === STATE.NUMBER && NUMBER_ENDS.has(this.#part);
    const inString = this.#state === STATE.STRING && !this.#isKey;
    const [at, depth] = cut || inString ? [this.#at, this.#depth] : [this.#safeAt, this.#safeDepth];
    const closers = Array.from(this.#open.slice(0, depth), (start) => (start < 0 ? "}" : "]")).reverse();
    return json.toString("utf8", 0, at) + (inString ? '"' : "") + closers.join("");
  }

  #passMark(byte: number): void {
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      this.#at++;
      return;
    }
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- states within a value have functions of their own
    switch (this.#state) {
      case STATE.KEY:
      case STATE.KEY_OR_END:
        if (byte === QUOTE) return this.#beginString(true);
        if (byte === CLOSE_BRACE && this.#state === STATE.KEY_OR_END) return this.#close();
        break;
      case STATE.COLON:
        if (byte === COLON) return this.#become(STATE.VALUE);
        break;
      case STATE.AFTER_VALUE:
        return this.#passAfter(byte);
      case STATE.VALUE_OR_END:
        if (byte === CLOSE_BRACKET) return this.#close();
        return this.#begin(byte);
      case STATE.VALUE:
        return this.#begin(byte);
      default:
    }
    throw this.#fault();
  }

  #passAfter(byte: number): void {
    const isObject = (this.#open[this.#depth - 1] as number) < 0;
    if (byte === COMMA) return this.#become(isObject ? STATE.KEY : STATE.VALUE);
    if (byte === (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) return this.#close();
    throw this.#fault();
  }

  #begin(byte: number): void {
    if (byte === QUOTE) return this.#beginString(false);
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#openContainer(byte);
    this.#start = this.#at;
    if (byte === MINUS || isDigit(byte)) {
      this.#part = byte === MINUS ? "MINUS" : byte === ZERO ? "ZERO" : "WHOLE";
      return this.#become(STATE.NUMBER);
    }
    const word = WORDS.get(byte);
    if (word === undefined) throw this.#fault();
    this.#word = word;
    this.#become(STATE.WORD);
  }

  #become(state: State): void {
    this.#state = state;
    this.#at++;
  }

  #beginString(isKey: boolean): void {
    this.#start = this.#at;
    this.#isKey = isKey;
    this.#become(STATE.STRING);
  }

  #openContainer(byte: number): void {
    if (this.#depth >= this.#depthMax) throw new JsonFault("DEPTH", this.#at);
    this.#open[this.#depth++] = byte === OPEN_BRACE ? -this.#at - 1 : this.#at;
    this.#become(byte === OPEN_BRACE ? STATE.KEY_OR_END : STATE.VALUE_OR_END);
    this.#safeAt = this.#at;
    this.#safeDepth = this.#depth;
  }

  #close(): void {
    const opened = this.#open[--this.#depth] as number;
    this.#start = opened < 0 ? -opened - 1 : opened;
    this.#at++;
    this.#endValue(this.#at);
  }

  #endValue(end: number): void {
    const depth = this.#depth;
    this.#state = depth === 0 ? STATE.DONE : STATE.AFTER_VALUE;
    this.#safeAt = end;
    this.#safeDepth = depth;
    if (depth <= this.#watchedDepth) this.#watcher.value(this.#json, depth, this.#start, end);
  }

  #passString(json: Buffer, until: number): void {
    let at = this.#at;
    let byte = 0;
    while (at < until) {
      byte = json[at] as number;
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
      at++;
    }
    this.#at = at;
    if (at === until) return;
    if (byte < 0x20) throw this.#fault();
    this.#at++;
    if (byte === BACKSLASH) this.#state = STATE.ESCAPE;
    else this.#endString();
  }

  #endString(): void {
    if (!this.#isKey) return this.#endValue(this.#at);
    this.#state = STATE.COLON;
    const depth = this.#depth;
    if (depth <= this.#watchedDepth) this.#watcher.key(this.#json, depth, this.#start, this.#at);
  }

  #passEscape(json: Buffer): void {
    const byte = json[this.#at] as number;
    if (!ESCAPED.has(byte)) throw this.#fault();
    this.#hexLeft = 4;
    this.#become(byte === 0x75 ? STATE.HEX : STATE.STRING);
  }

  #passHex(json: Buffer): void {
    const byte = json[this.#at] as number;
    const letter = byte | 0x20;
    if (!isDigit(byte) && (letter < 0x61 || letter > 0x66)) throw this.#fault();
    this.#become(--this.#hexLeft === 0 ? STATE.STRING : STATE.HEX);
  }

  #passNumber(json: Buffer, until: number): void {
    while (this.#at < until) {
      const next = partAfter(this.#part, json[this.#at] as number);
      if (next === null) {
        if (!NUMBER_ENDS.has(this.#part)) throw this.#fault();
        return this.#endValue(this.#at);
      }
      this.#part = next;
      this.#at++;
    }
  }

  #passWord(json: Buffer): void {
    if (json[this.#at] !== this.#word[this.#at - this.#start]) throw this.#fault();
    this.#at++;
    if (this.#at - this.#start === this.#word.length) this.#endValue(this.#at);
  }

  #fault(): JsonFault {
    return new JsonFault("SYNTAX", this.#at);
  }
}

/** Next part of a number; null: the number ends before this byte, or is invalid. */
function partAfter(part: NumberPart, byte: number): NumberPart | null {
  if (isDigit(byte)) return partAfterDigit(part, byte);
  if (byte === 0x2e) return part === "ZERO" || part === "WHOLE" ? "DOT" : null;
  if (byte === 0x65 || byte === 0x45) return NUMBER_ENDS.has(part) && part !== "EXPONENT" ? "E" : null;
  if (byte === 0x2b || byte === MINUS) return part === "E" ? "SIGN" : null;
  return null;
}

function partAfterDigit(part: NumberPart, byte: number): NumberPart | null {
  switch (part) {
    case "MINUS":
      return byte === ZERO ? "ZERO" : "WHOLE";
    case "ZERO":
      return null;
    case "DOT":
      return "FRACTION";
    case "E":
    case "SIGN":
      return "EXPONENT";
    case "EXPONENT":
    case "FRACTION":
    case "WHOLE":
      return part;
  }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}
