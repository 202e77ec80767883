import type { Runtime } from "../ports/runtime.ts";

/** Number of lines of one message that are written at once. */
const BURST = 5;
/** Interval of further lines of the message, in milliseconds. */
const EVERY_MS = 30_000;
/** Largest number of messages that are distinguished; further ones count as one. */
const MESSAGES_MAX = 1_000;

/** Arguments of a log line in pino's form: fields and message, or the message alone. */
type Line = readonly unknown[];

/**
 * Limits the lines that an outage writes: lines of a repeated message are counted, and the next written line has their
 * number.
 */
export class RepeatedLines {
  readonly #clock: Pick<Runtime, "monotonicMs">;
  readonly #messages = new Map<string, { left: number; sinceMs: number; unwritten: number }>();

  constructor(clock: Pick<Runtime, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * @returns line to write, with `repeated` for the number of suppressed lines before it; null: the line is suppressed
   */
  take(line: Line): Line | null {
    const known = this.#messageOf(line);
    const nowMs = this.#clock.monotonicMs();
    const regained = Math.floor((nowMs - known.sinceMs) / EVERY_MS);
    if (regained > 0) {
      known.left = Math.min(BURST, known.left + regained);
      known.sinceMs += regained * EVERY_MS;
    }
    if (known.left === 0) {
      known.unwritten++;
      return null;
    }
    known.left--;
    const repeated = known.unwritten;
    known.unwritten = 0;
    return repeated === 0 ? line : withField(line, { repeated });
  }

  #messageOf(line: Line) {
    const text = line.find((part) => typeof part === "string") ?? "";
    const key = this.#messages.size < MESSAGES_MAX || this.#messages.has(text) ? text : "";
    const known = this.#messages.get(key) ?? { left: BURST, sinceMs: this.#clock.monotonicMs(), unwritten: 0 };
    this.#messages.set(key, known);
    return known;
  }
}

function withField(line: Line, field: object): Line {
  const [first, ...others] = line;
  return typeof first === "object" && first !== null ? [{ ...first, ...field }, ...others] : [field, ...line];
}
