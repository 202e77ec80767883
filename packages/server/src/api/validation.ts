import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { FieldError } from "./errors.ts";
import { parseInstant } from "./instants.ts";

export interface Check<T extends TSchema> {
  ok(value: unknown): value is Static<T>;
  /** What is wrong with a value that is not ok; up to eight errors. */
  errors(value: unknown): FieldError[];
}

interface SchemaError {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: object;
  message: string;
}

type Node = Record<string, unknown>;

const ERRORS_MAX = 8;

export function compileCheck<T extends TSchema>(schema: T): Check<T> {
  const validator = Compile(schema);
  return {
    ok: (value): value is Static<T> => validator.Check(value),
    errors: (value) => sentences(schema, validator.Errors(value) as SchemaError[], value),
  };
}

function sentences(schema: TSchema, found: readonly SchemaError[], value: unknown): FieldError[] {
  // What failed inside a choice says nothing by itself: the choice as a whole says what it takes.
  const choices = found.filter(({ keyword }) => keyword === "anyOf").map(({ schemaPath }) => `${schemaPath}/anyOf/`);
  const errors = found
    .filter(({ schemaPath }) => !choices.some((choice) => schemaPath.startsWith(choice)))
    .flatMap((error) => sentence(error, schema, at(value, error.instancePath)));
  // Of an unknown field two errors tell, but only the first where there are many.
  return [...new Map(errors.map((error) => [`${error.field} ${error.message}`, error])).values()].slice(0, ERRORS_MAX);
}

function sentence(error: SchemaError, schema: TSchema, value: unknown): FieldError[] {
  const field = fieldName(error.instancePath);
  const params = error.params as Node;
  const node = (at(schema, error.schemaPath) ?? {}) as Node;
  switch (error.keyword) {
    case "boolean": {
      const keys = keysOf(error.instancePath);
      const parent = at(schema, error.schemaPath.replace(/\/additionalProperties$/, "")) as Node | undefined;
      return [unknownField(keys.slice(0, -1).reduce(join, ""), keys.at(-1) ?? "", parent ?? {})];
    }
    case "required":
      return (params.requiredProperties as string[]).map((key) => ({ field: join(field, key), message: "is missing" }));
    case "additionalProperties":
      return (params.additionalProperties as string[]).map((key) => unknownField(field, key, node));
    default:
      return [{ field, message: valueMessage(error, params, node, value) }];
  }
}

function unknownField(parent: string, key: string, schema: Node): FieldError {
  const field = join(parent, key);
  const { properties, description } = schema;
  if (!properties) return { field, message: `may not be called so: ${description}` };
  const known = `the fields are ${Object.keys(properties).join(", ")}`;
  return { field, message: `is no field here: ${known}` };
}

function valueMessage(error: SchemaError, params: Node, schema: Node, value: unknown): string {
  switch (error.keyword) {
    case "type":
      return `must be ${article(String(params.type))}, not ${kindOf(value)}`;
    case "enum":
      return `must be ${(params.allowedValues as unknown[]).join(" or ")}`;
    case "const":
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case "anyOf":
      return `must be ${schema.description}`;
    case "pattern":
      return `must have other characters: ${schema.description}`;
    case "format":
      return schema.format === "date-time" ? String(parseInstant(String(value))) : `must be a ${schema.format}`;
    default:
      return error.message.replace("<=", "at most").replace(">=", "at least");
  }
}

function at(root: unknown, pointer: string): unknown {
  let node = root;
  for (const key of keysOf(pointer)) {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return undefined;
    node = (node as Node)[key];
  }
  return node;
}

function keysOf(pointer: string): string[] {
  return pointer
    .replace(/^#/, "")
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function fieldName(pointer: string): string {
  return keysOf(pointer).reduce(join, "");
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
