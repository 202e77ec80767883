/** Values of a progression that are written out before its end. */
const SHOWN_OF_PROGRESSION = 3;
/** Fewest values that are shortened to the form of a progression. */
const PROGRESSION_MIN = 5;
/** Fewest successive values that are shortened to a range. */
const RANGE_MIN = 3;

/** Values at equal distances. */
interface Progression {
  first: number;
  step: number;
  last: number;
}

/** @param values ascending @returns null: there are fewer than `countMin`, or their distances differ */
export function progressionOf(values: Iterable<number>, countMin: number): Progression | null {
  let [first, last, step, count] = [0, 0, 0, 0];
  for (const value of values) {
    if (count === 0) first = value;
    else if (count === 1) step = value - first;
    else if (value - last !== step) return null;
    last = value;
    count++;
  }
  return count < countMin ? null : { first, step, last };
}

/** Parts of a list of values: `1 to 5`, `8`; or `0, 7, 14, …, 56`. @param values ascending */
export function partsOf(values: readonly number[], textOf: (value: number) => string = String): string[] {
  const steady = progressionOf(values, PROGRESSION_MIN);
  if (steady !== null && steady.step > 1) {
    return [`${values.slice(0, SHOWN_OF_PROGRESSION).map(textOf).join(", ")}, …, ${textOf(steady.last)}`];
  }
  return rangesIn(values).flatMap(([first, last]) => {
    if (last - first + 1 >= RANGE_MIN) return `${textOf(first)} to ${textOf(last)}`;
    return last === first ? textOf(first) : [textOf(first), textOf(last)];
  });
}

/** First and last value of each run of successive values. */
function rangesIn(values: readonly number[]): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (const value of values) {
    const open = ranges.at(-1);
    if (open !== undefined && open[1] === value - 1) open[1] = value;
    else ranges.push([value, value]);
  }
  return ranges;
}

/** `a`, `a and b`, or `a, b and c`. */
export function joined(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** A number of seconds in the largest unit up to hours that gives a whole number: `second`, `90 seconds`, `2 hours`. */
export function spanText(sec: number): string {
  const [unit, name] = UNITS.find(([size]) => sec % size === 0) ?? ([1, "second"] as const);
  const count = sec / unit;
  return count === 1 ? name : `${count} ${name}s`;
}

const UNITS = [
  [3_600, "hour"],
  [60, "minute"],
] as const;
