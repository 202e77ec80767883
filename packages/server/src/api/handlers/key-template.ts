/** A key of policies in parts: texts, and the paths of fields of the payload between them. */
export type KeyTemplate = readonly (string | readonly string[])[];

/** A field of the payload that a key needs and the payload does not have. */
export interface MissingField {
  missing: string;
}

const PLACE = /\{([^{}]*)\}/;
const PATH = /^payload((?:\.[A-Za-z0-9_-]+)+)$/;

/** @returns the fault, and what would be right */
export function parseKey(text: string): KeyTemplate | string {
  const parts: (string | readonly string[])[] = [];
  for (const [index, part] of text.split(PLACE).entries()) {
    if (index % 2 === 0) {
      if (/[{}]/.test(part)) return "has a brace that belongs to no placeholder: write {payload.field}, or no braces";
      parts.push(part);
      continue;
    }
    const path = PATH.exec(part)?.[1];
    if (path === undefined)
      return `has the placeholder {${part}}: write {payload.field}, with names of letters, digits, _ and - and dots between them`;
    parts.push(path.slice(1).split("."));
  }
  return parts;
}

/** Whether the key depends on the payload. */
export function isConstant(template: KeyTemplate): boolean {
  return template.every((part) => typeof part === "string");
}

export function fillKey(template: KeyTemplate, payload: unknown): string | MissingField {
  let key = "";
  for (const part of template) {
    const value = typeof part === "string" ? part : fieldOf(payload, part);
    if (value === null) return { missing: `payload.${(part as readonly string[]).join(".")}` };
    key += value;
  }
  return key;
}

/** null: it is missing, or neither a text nor a number nor a boolean. */
function fieldOf(payload: unknown, path: readonly string[]): string | null {
  let value = payload;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : null;
}
