import type { Runtime } from "../ports/runtime.ts";

/** So many lines of one message are written at once, */
const BURST = 5;
/** and after them one in so long. */
const EVERY_MS = 30_000;
/** Messages that are told apart; more of them count as one. */
const MESSAGES_MAX = 1_000;

/** Arguments of a log line, as pino takes them: fields and message, or the message alone. */
type Line = readonly unknown[];

/** Bounds what an outage writes: lines of a message that repeats are counted, and the next one that is written says how many there were. */
export class RepeatedLines {
  readonly #clock: Pick<Runtime, "monotonicMs">;
  readonly #messages = new Map<string, { left: number; sinceMs: number; unwritten: number }>();

  constructor(clock: Pick<Runtime, "monotonicMs">) {
    this.#clock = clock;
  }

  /** @returns the line to write, with `repeated` for those before it that were not; null: it is counted */
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
