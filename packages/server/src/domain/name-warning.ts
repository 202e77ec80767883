/** Controls of the second set (C1), and characters that change the direction of writing. */
const REFUSED_SOON = /[\u0080-\u009f]|\p{Bidi_Control}/u;

/**
 * Warning about a name that this release accepts and the next one refuses, because a screen shows it as another name;
 * null: there is none.
 * @param field field of the request or message that has the name
 */
export function nameWarning(field: string, name: string): string | null {
  const [character] = REFUSED_SOON.exec(name) ?? [];
  if (character === undefined) return null;
  return `${field} has the control character ${codePointOf(character)}, which the next release refuses: leave it out`;
}

function codePointOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
