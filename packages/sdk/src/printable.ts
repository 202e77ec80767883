/**
 * All that a terminal obeys rather than shows: control characters of both sets (C0 and C1), what turns the direction of writing around,
 * and what ends a line or a page.
 */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Text of others as one line that is safe to print: what a terminal would obey is shown as an escape, as `\u001b`. Text
 * that is safe already stays as it is.
 */
export function printable(text: string): string {
  return text.replace(OBEYED, (char) => SHORT[char] ?? escaped(char));
}

/** As `printable`, but lines stay lines. */
export function printableLines(text: string): string {
  return text.replace(OBEYED, (char) => (char === "\n" ? char : (SHORT[char] ?? escaped(char))));
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
