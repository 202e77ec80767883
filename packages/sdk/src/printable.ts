/**
 * Matches every character that a terminal interprets instead of showing: control characters of both sets (C0 and C1),
 * characters that change the direction of writing, and ends of lines and pages.
 */
// oxlint-disable-next-line no-control-regex -- control characters are the subject of the expression
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Returns a foreign text as one line that is safe to print. Characters that a terminal would interpret become escapes
 * such as `\u001b`. A text that is safe already stays as it is.
 */
export function printable(text: string): string {
  return text.replace(OBEYED, (char) => SHORT[char] ?? escaped(char));
}

/** The same as `printable`, except that line breaks stay. */
export function printableLines(text: string): string {
  return text.replace(OBEYED, (char) => (char === "\n" ? char : (SHORT[char] ?? escaped(char))));
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
