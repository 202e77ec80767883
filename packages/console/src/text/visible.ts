/** Characters that hide or reorder text: control and format characters, and separators of lines. Tabs and line breaks stay. */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Text from elsewhere with hidden characters as escapes such as `\u202e`, so that a name looks like what it is. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`);
}
