/** A statement of which parts were left out. */
export interface Shortened {
  /** Its parameters are numbered from 1 on without gaps, as PostgreSQL wants them. */
  text: string;
  /** Values of the whole statement for which the shorter statement has parameters. */
  pick(values: readonly unknown[]): unknown[];
}

/** @param text with the numbers that parameters have in the whole statement */
export function fewerParameters(text: string): Shortened {
  const used = [...new Set(Array.from(text.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))].sort(
    (a, b) => a - b,
  );
  return {
    text: text.replaceAll(/\$(\d+)/g, (_, number) => `$${used.indexOf(Number(number)) + 1}`),
    pick: (values) => used.map((number) => values[number - 1]),
  };
}
