import type { TSchema } from "typebox";
import Format from "typebox/format";
import { Guard } from "typebox/guard";
import type { FieldError } from "./errors.ts";
import { parseInstant } from "./instants.ts";

// JSON Schema's own date-time refuses a time without seconds, and accepts the 30th of February.
Format.Set("date-time", (text) => typeof parseInstant(text) === "number");

type Node = Record<string, unknown>;
type Faults = Generator<FieldError, void, undefined>;

/**
 * Yields the faults of a value one after the other, each with its place. If the caller stops early, the generator does
 * not examine the rest. It supports the keywords that the schemas of this API use.
 * @param field place of the value; empty: the whole body
 */
export function* faultsOf(schema: TSchema, value: unknown, field = ""): Faults {
  const node = schema as Node;
  yield* typeFaults(node, value, field);
  if (Array.isArray(value)) yield* listFaults(node, value, field);
  else if (typeof value === "object" && value !== null) yield* objectFaults(node, value as Node, field);
  else if (typeof value === "string") yield* textFaults(node, value, field);
  else if (typeof value === "number") yield* numberFaults(node, value, field);
  yield* choiceFaults(node, value, field);
}

function* typeFaults({ type }: Node, value: unknown, field: string): Faults {
  if (type === undefined || isOfType(String(type), value)) return;
  yield { field, message: `must be ${article(String(type))}, not ${kindOf(value)}` };
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function* objectFaults(node: Node, value: Node, field: string): Faults {
  const { required = [], properties = {}, patternProperties = {}, maxProperties } = node as ObjectNode;
  for (const key of required) if (!Object.hasOwn(value, key)) yield { field: join(field, key), message: "is missing" };
  const patterns = Object.entries(patternProperties);
  if (node["additionalProperties"] === false) yield* unknownFields(node, value, field);
  for (const [pattern, schema] of patterns) {
    for (const key in value) if (regExpOf(pattern).test(key)) yield* faultsOf(schema, value[key], join(field, key));
  }
  for (const key in properties) {
    if (Object.hasOwn(value, key)) yield* faultsOf(properties[key] as TSchema, value[key], join(field, key));
  }
  if (maxProperties !== undefined && Object.keys(value).length > maxProperties) {
    yield { field, message: `must not have more than ${maxProperties} properties` };
  }
}

interface ObjectNode {
  required?: readonly string[];
  properties?: Record<string, TSchema>;
  patternProperties?: Record<string, TSchema>;
  maxProperties?: number;
}

function* unknownFields(node: Node, value: Node, field: string): Faults {
  const { properties, patternProperties = {} } = node as ObjectNode;
  const patterns = Object.keys(patternProperties).map(regExpOf);
  for (const key in value) {
    if ((properties && Object.hasOwn(properties, key)) || patterns.some((pattern) => pattern.test(key))) continue;
    const message = properties
      ? `is no field here: the fields are ${Object.keys(properties).join(", ")}`
      : `may not be called so: ${node["description"]}`;
    yield { field: join(field, key), message };
  }
}

function* listFaults(node: Node, value: readonly unknown[], field: string): Faults {
  const {
    items,
    minItems = 0,
    maxItems = Infinity,
  } = node as { items?: TSchema; minItems?: number; maxItems?: number };
  if (value.length > maxItems) yield { field, message: `must not have more than ${maxItems} items` };
  if (value.length < minItems) yield { field, message: `must not have fewer than ${minItems} items` };
  if (items === undefined) return;
  for (const [index, item] of value.entries()) yield* faultsOf(items, item, join(field, String(index)));
}

function* textFaults(node: Node, value: string, field: string): Faults {
  const { minLength, maxLength, format, pattern, description } = node as Record<string, string> & TextBounds;
  if (minLength !== undefined && !Guard.IsMinLength(value, minLength)) {
    yield { field, message: `must not have fewer than ${minLength} characters` };
  }
  if (maxLength !== undefined && !Guard.IsMaxLength(value, maxLength)) {
    yield { field, message: `must not have more than ${maxLength} characters` };
  }
  if (format !== undefined && !Format.Test(format, value)) {
    yield { field, message: format === "date-time" ? String(parseInstant(value)) : `must be a ${format}` };
  }
  if (pattern !== undefined && !regExpOf(pattern).test(value)) {
    yield { field, message: `must have other characters: ${description}` };
  }
}

interface TextBounds {
  minLength?: never;
  maxLength?: never;
}

function* numberFaults(node: Node, value: number, field: string): Faults {
  const { minimum = -Infinity, maximum = Infinity } = node as { minimum?: number; maximum?: number };
  if (value > maximum) yield { field, message: `must be at most ${maximum}` };
  if (value < minimum) yield { field, message: `must be at least ${minimum}` };
}

function* choiceFaults(node: Node, value: unknown, field: string): Faults {
  const { enum: allowed, anyOf, description } = node as { enum?: unknown[]; anyOf?: TSchema[]; description?: string };
  if (Object.hasOwn(node, "const") && value !== node["const"]) {
    yield { field, message: `must be ${JSON.stringify(node["const"])}` };
  }
  if (allowed !== undefined && !allowed.includes(value)) yield { field, message: `must be ${allowed.join(" or ")}` };
  if (!anyOf?.every((choice) => !faultsOf(choice, value).next().done)) return;
  // A union with a description says as a whole what it accepts.
  if (description !== undefined) yield { field, message: `must be ${description}` };
  else yield* faultsOfAlternative(anyOf, value, field);
}

/** Faults of the only alternative that has the type of the value; otherwise the types that the union accepts. */
function* faultsOfAlternative(anyOf: readonly TSchema[], value: unknown, field: string): Faults {
  const types = anyOf.map((choice) => String((choice as Node)["type"]));
  const [only, ...others] = anyOf.filter((_, index) => isOfType(types[index] as string, value));
  if (only !== undefined && others.length === 0) yield* faultsOf(only, value, field);
  else yield { field, message: `must be ${types.map(article).join(" or ")}` };
}

const patternCache = new Map<string, RegExp>();

function regExpOf(pattern: string): RegExp {
  const known = patternCache.get(pattern) ?? new RegExp(pattern, "u");
  patternCache.set(pattern, known);
  return known;
}

function join(parent: string, key: string): string {
  const name = key.length > 128 ? `${key.slice(0, 128)}…` : key;
  if (parent === "") return name;
  return /^\d+$/.test(key) ? `${parent}[${name}]` : `${parent}.${name}`;
}

function article(type: string): string {
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : article(typeof value);
}
