/** A statement without the parts that a caller does not need. */
export interface Shortened {
  /** Text with parameters numbered from 1 on without gaps, as PostgreSQL requires. */
  text: string;
  /** Picks the values that the shorter statement needs from those of the whole statement. */
  pick(values: readonly unknown[]): unknown[];
}

/** @param text text with the parameter numbers of the whole statement */
export function fewerParameters(text: string): Shortened {
  const used = [...new Set(Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))].sort(
    (a, b) => a - b,
  );
  return {
    text: text.replaceAll(/\$(\d+)/g, (_, number) => `$${used.indexOf(Number(number)) + 1}`),
    pick: (values) => used.map((number) => values[number - 1]),
  };
}
