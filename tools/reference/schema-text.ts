import type { Schema } from "./api-document.ts";
import { code, linkTo } from "./markdown.ts";

/** Heading of a named schema, which determines its anchor. */
export const headingOf = (name: string): string => `Schema ${name}`;

/** Type of a schema, for people: links for named schemas, and bounds beside simple types. */
export function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(headingOf(nameOf(schema)), nameOf(schema));
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeText).join(" or ");
  if (schema.allOf !== undefined) return schema.allOf.map(typeText).join(" and ");
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
  if (schema.items !== undefined) return withBounds(`array of ${typeText(schema.items)}`, schema);
  if (typeof schema.additionalProperties === "object")
    return withBounds(`object with values ${typeText(schema.additionalProperties)}`, schema);
  const types = [schema.type ?? "any JSON value"].flat();
  return withBounds(types.map((type) => (schema.type === undefined ? type : code(type))).join(" or "), schema);
}

/** Name of the schema that a reference leads to; "" for a schema without a name. */
export function nameOf({ $ref = "" }: Schema): string {
  return $ref.slice($ref.lastIndexOf("/") + 1);
}

function withBounds(type: string, schema: Schema): string {
  const { format, pattern } = schema;
  const bounds = [
    format ?? "",
    range(schema.minimum, schema.maximum),
    schema.exclusiveMinimum === undefined ? "" : `more than ${schema.exclusiveMinimum}`,
    counted(schema.minLength, schema.maxLength, "characters"),
    counted(schema.minItems, schema.maxItems, "items"),
    counted(undefined, schema.maxProperties, "fields"),
    pattern === undefined ? "" : `matches ${code(pattern)}`,
  ].filter((bound) => bound !== "");
  return bounds.length === 0 ? type : `${type} (${bounds.join("; ")})`;
}

function counted(min: number | undefined, max: number | undefined, unit: string): string {
  const text = range(min, max);
  return text === "" ? "" : `${text} ${unit}`;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return min === max ? `${min}` : `${min} to ${max}`;
  if (min !== undefined) return `${min} or more`;
  return max === undefined ? "" : `up to ${max}`;
}
