/** Seconds since 1970-01-01T00:00:00Z. */
export type EpochSec = number;

/** A time in which a zone's offset from UTC stays the same, and the offsets beside it. */
export interface Stretch {
  start: EpochSec;
  /** The first instant after it. */
  end: EpochSec;
  offsetSec: number;
  /** Other than `offsetSec` only where the clocks were set at `start`. */
  offsetBeforeSec: number;
  /** Other than `offsetSec` only where the clocks are set at `end`. */
  offsetAfterSec: number;
}

const DAY_SEC = 86_400;
/** A zone is explored in pieces, as they are asked for. */
const PIECE_SEC = 32 * DAY_SEC;
/** A piece is seen with what lies beside it, so that a clock change near its edge is known on both sides. */
const MARGIN_SEC = 2 * DAY_SEC;
/**
 * How far apart offsets are read. Of all zones from 1970 to 2100 the shortest time between two changes is seven days
 * less an hour (Gaza, 2040), so that none is overlooked.
 */
const STEP_SEC = 3 * DAY_SEC;
/** For 40 years of one zone. */
const PIECES_MAX = 480;

/** The clocks of one IANA zone, from the platform's own time zone data. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;
  readonly #pieces = new Map<number, Stretch[]>();

  /** @throws {RangeError} where the platform has no such zone */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  }

  /** The stretch that holds this instant; it may be cut short where no clock is set. */
  stretchAt(instant: EpochSec): Stretch {
    const piece = this.#piece(Math.floor(instant / PIECE_SEC));
    let found = piece[0] as Stretch;
    for (const stretch of piece) if (stretch.start <= instant) found = stretch;
    return found;
  }

  #piece(index: number): Stretch[] {
    const known = this.#pieces.get(index);
    if (known !== undefined) return known;
    if (this.#pieces.size >= PIECES_MAX) this.#pieces.clear();
    const piece = this.#explore(index * PIECE_SEC - MARGIN_SEC, (index + 1) * PIECE_SEC + MARGIN_SEC);
    this.#pieces.set(index, piece);
    return piece;
  }

  #explore(from: EpochSec, until: EpochSec): Stretch[] {
    const stretches: Stretch[] = [];
    let offsetSec = this.#offsetAt(from);
    let current: Stretch = {
      start: from,
      end: until,
      offsetSec,
      offsetBeforeSec: offsetSec,
      offsetAfterSec: offsetSec,
    };
    for (let read = from; read < until; read += STEP_SEC) {
      const offsetAfterSec = this.#offsetAt(read + STEP_SEC);
      if (offsetAfterSec === offsetSec) continue;
      const change = this.#changeBetween(read, read + STEP_SEC, offsetSec);
      stretches.push({ ...current, end: change, offsetAfterSec });
      current = { start: change, end: until, offsetSec: offsetAfterSec, offsetBeforeSec: offsetSec, offsetAfterSec };
      offsetSec = offsetAfterSec;
    }
    stretches.push(current);
    return stretches.filter(({ start, end }) => start < end);
  }

  /** The first instant with another offset. */
  #changeBetween(early: EpochSec, late: EpochSec, offsetSec: number): EpochSec {
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (this.#offsetAt(middle) === offsetSec) early = middle;
      else late = middle;
    }
    return late;
  }

  #offsetAt(instant: EpochSec): number {
    return offsetIn(this.#format.format(instant * 1_000));
  }
}

/** Of a text such as `3/9/2025, GMT-04:00`; seconds where the zone had them, nothing for UTC. */
function offsetIn(text: string): number {
  const [sign = "", hours = "0", minutes = "0", seconds = "0"] =
    /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text)?.slice(1) ?? [];
  const size = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -size : size;
}
