/**
 * Text of another program, cut to at most `maxChars` UTF-16 code units. U+FFFD replaces the characters that no store
 * keeps: NUL, and half of a surrogate pair, which a cut may leave.
 */
export function cleanText(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replaceAll("\u0000", "\ufffd").toWellFormed();
}
