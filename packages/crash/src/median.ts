/** Middle value; for an even number of values, the upper one of the two in the middle; 0: there are no values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
