import { ExactNumber } from "../api/exact-json.ts";

/** JSON text of a value, with exact numbers as they came. */
export function jsonText(value: unknown): string {
  const marks: string[] = [];
  const marked = JSON.stringify(
    value,
    (_key, one) => {
      if (!(one instanceof ExactNumber)) return one;
      marks.push(one.text);
      return `\u0000${marks.length - 1}\u0000`;
    },
    2,
  );
  return marked.replace(/"\\u0000(\d+)\\u0000"/g, (_, place: string) => marks[Number(place)] ?? "");
}

/** Whether a text is JSON, or empty. */
export function isJsonOrEmpty(text: string): boolean {
  try {
    return text.trim() === "" || JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}
