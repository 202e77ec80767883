/**
 * Controls of the second set (C1), characters that change the direction of writing, ends of lines, and characters without
 * a picture. The joiners U+200C and U+200D are not among them: several scripts need them.
 */
const REFUSED_SOON = /[\u0080-\u009f\u00ad\u200b\u2028\u2029\u2060-\u2064\ufeff]|\p{Bidi_Control}/u;

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
