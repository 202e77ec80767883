import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";

interface Issue {
  message: string;
  path: readonly string[];
}

/** A Standard Schema, as `task()` takes it. */
export interface PayloadSchema<T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "mainspring";
    readonly types?: { readonly input: T; readonly output: T };
    validate(payload: unknown): { value: T; issues?: undefined } | { issues: readonly Issue[] };
  };
}

interface Finding {
  keyword: string;
  instancePath: string;
  params: { requiredProperties?: string[]; additionalProperties?: string[] };
}

/**
 * Schema of a built-in handler's payload. Each field's description says what the field must be, and is the error's
 * message.
 * @param refusals checks that the schema cannot express: pairs of a field and its fault
 */
export function payloadSchema<T extends TSchema>(
  schema: T,
  refusals: (payload: Static<T>) => readonly (readonly [field: string, message: string])[],
): PayloadSchema<Static<T>> {
  const validator = Compile(schema);
  const validate = (payload: unknown) => {
    if (!validator.Check(payload)) return { issues: issuesOf(schema, validator.Errors(payload) as Finding[]) };
    const found = refusals(payload);
    if (found.length > 0) return { issues: found.map(([field, message]) => ({ message, path: [field] })) };
    return { value: payload };
  };
  return { "~standard": { version: 1, vendor: "mainspring", validate } };
}

/** One issue for each field. The description of the field also covers faults inside it. */
function issuesOf(schema: TSchema, findings: readonly Finding[]): Issue[] {
  const { properties = {} } = schema as { properties?: Record<string, { description?: string }> };
  const known = `the fields are ${Object.keys(properties).join(", ")}`;
  const messages = new Map<string, string>();
  for (const { instancePath, params } of findings) {
    const [field = ""] = instancePath.split("/").slice(1);
    for (const name of params.requiredProperties ?? []) messages.set(name, "is missing");
    for (const name of params.additionalProperties ?? []) messages.set(name, `is no field here: ${known}`);
    if (field in properties) messages.set(field, `must be ${properties[field]?.description}`);
  }
  if (messages.size === 0) messages.set("", `the payload must be an object: ${known}`);
  return Array.from(messages, ([field, message]) => ({ message, path: field === "" ? [] : [field] }));
}
