import { changesOf } from "./posix-rule.ts";
import type { ZoneRules } from "./tzif.ts";

/** Seconds since 1970-01-01T00:00:00Z. */
export type EpochSec = number;

/** A period in which a zone's offset from UTC stays the same, with the adjacent offsets. */
export interface Stretch {
  start: EpochSec;
  /** First instant after the period. */
  end: EpochSec;
  offsetSec: number;
  /** Offset before the period. It differs from `offsetSec` only if the clocks were set at `start`. */
  offsetBeforeSec: number;
  /** Offset after the period. It differs from `offsetSec` only if the clocks are set at `end`. */
  offsetAfterSec: number;
}

/** Bounds in seconds that lie before and after all instants that are planned or read. */
const ALWAYS = { start: Date.UTC(1, 0, 1) / 1_000, end: Date.UTC(10_000, 0, 1) / 1_000 };
/** Number of cached years of the rule. */
const YEARS_MAX = 200;
/** Years that are computed together with a year, so that a change near its edge is known on both sides. */
const AROUND = [-2, -1, 0, 1, 2];
type Beginning = ReturnType<typeof changesOf>[number];

/** The local time of one IANA zone. */
export class TimeZone {
  readonly #rules: ZoneRules;
  /** Instant at which the explicit changes end and the rule begins. */
  readonly #ruleFrom: EpochSec;
  readonly #years = new Map<number, Stretch[]>();

  constructor(rules: ZoneRules) {
    this.#rules = rules;
    this.#ruleFrom = rules.changes.at(-1) ?? ALWAYS.start;
  }

  /** The stretch that contains this instant. */
  stretchAt(instant: EpochSec): Stretch {
    const { changes, offsets, rule } = this.#rules;
    if (rule !== null && rule.daylight !== null && instant >= this.#ruleFrom) return this.#byRule(instant);
    const index = countUpTo(changes, instant);
    const offsetSec = offsets[index] as number;
    return {
      start: changes[index - 1] ?? ALWAYS.start,
      end: changes[index] ?? ALWAYS.end,
      offsetSec,
      offsetBeforeSec: offsets[index - 1] ?? offsetSec,
      offsetAfterSec: offsets[index + 1] ?? offsetSec,
    };
  }

  #byRule(instant: EpochSec): Stretch {
    const year = new Date(instant * 1_000).getUTCFullYear();
    const stretches = this.#years.get(year) ?? this.#explore(year);
    return stretches.find(({ start, end }) => start <= instant && instant < end) as Stretch;
  }

  /** Stretches that cover a whole year, computed from the changes of the years around it. */
  #explore(year: number): Stretch[] {
    const { offsets, rule } = this.#rules;
    if (rule === null) return [];
    const changes = AROUND.flatMap((years) => changesOf(rule, year + years))
      .sort((a, b) => a.at - b.at)
      .filter(({ at }) => at > this.#ruleFrom);
    const isFirst = changes.length < 2 * AROUND.length;
    let { at: start, offsetSec } = isFirst ? this.#beginning() : (changes.shift() as Beginning);
    let offsetBeforeSec = isFirst ? (offsets.at(-2) ?? offsetSec) : (changes[0] as Beginning).offsetSec;
    const stretches: Stretch[] = [];
    for (const { at, offsetSec: next } of changes) {
      if (next === offsetSec) continue;
      stretches.push({ start, end: at, offsetSec, offsetBeforeSec, offsetAfterSec: next });
      [start, offsetBeforeSec, offsetSec] = [at, offsetSec, next];
    }
    if (this.#years.size >= YEARS_MAX) this.#years.clear();
    this.#years.set(year, stretches);
    return stretches;
  }

  #beginning(): Beginning {
    return { at: this.#ruleFrom, offsetSec: this.#rules.offsets.at(-1) as number };
  }
}

/** Counts how many of the ascending numbers are at most `limit`. */
function countUpTo(ascending: readonly number[], limit: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
