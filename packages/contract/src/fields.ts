import { type TObject, type TObjectOptions, type TProperties, type TSchema, Type } from "typebox";
import { LINE_CHARS_MAX, WORD_CHARS_MAX } from "./limits.ts";

/** Text without control characters and lone surrogates, which some stores change or refuse. */
export const PRINTABLE = "^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$";
const WORD = "^[A-Za-z0-9_][A-Za-z0-9_.:/@=+-]*$";

export const Uuid = (description: string) => Type.String({ format: "uuid", description });

export const Instant = (description: string) =>
  Type.String({ format: "date-time", maxLength: 64, description, examples: ["2030-01-31T09:30:00Z"] });

export const InstantOrNull = (description: string) => orNull(Type.String({ format: "date-time" }), description);

export const Word = (description: string) => Type.String({ pattern: WORD, maxLength: WORD_CHARS_MAX, description });

export const Line = (description: string) =>
  Type.String({ minLength: 1, maxLength: LINE_CHARS_MAX, pattern: PRINTABLE, description });

export const StringOrNull = (description: string) => orNull(Type.String(), description);

export const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const CapabilityList = (description: string) =>
  Type.Array(Word("a capability"), { maxItems: 32, description, examples: [["gpu", "region=eu"]] });

export const Labels = Type.Record(
  Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_.:/@=+-]{0,127}$" }),
  Line("a label"),
  {
    additionalProperties: false,
    maxProperties: 64,
    description: "up to 64 labels: keys of letters, digits and _.:/@=+- (128), values of 1 to 255 characters",
  },
);

/** Any JSON value. The server reads the value's original bytes from the body itself. */
export const AnyJson = (description: string) => Type.Unknown({ description });

/**
 * A schema of the values of a closed list.
 * @param title name of the schema in the API's document; absent: the document repeats the values at each use
 */
export function oneOf<const T extends readonly string[]>(values: T, description: string, title?: string) {
  return Type.Unsafe<T[number]>({ type: "string", enum: values, description, ...(title !== undefined && { title }) });
}

/** An object schema with a name. The API's document contains it under this name in `components.schemas`. */
export function named<P extends TProperties>(title: string, properties: P, options: TObjectOptions = {}): TObject<P> {
  return Type.Object(properties, { ...options, title });
}

/** A copy of the schema with a description of its own. */
export function described<T extends TSchema>(schema: T, description: string): T {
  return { ...schema, description };
}

export function orNull<T extends TSchema>(schema: T, description: string) {
  return Type.Union([schema, Type.Null()], { description });
}
