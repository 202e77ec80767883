import type { TSchema } from "typebox";
import type { Validator } from "typebox/compile";

type Fault = ReturnType<Validator["Errors"]>[number];
type Node = Record<string, unknown>;

/** Faults that another fault of the same value tells better: all of a union, and an unknown field. */
const GENERAL = ["anyOf", "additionalProperties"];

/**
 * Tells the first fault of a value: its place, and what would be right.
 * @param faults faults of a value that does not meet the schema
 */
export function schemaFault(schema: TSchema, faults: readonly Fault[]): string {
  const isWrongAlternative = ({ keyword, schemaPath }: Fault) => keyword === "type" && /\/anyOf\/\d+$/.test(schemaPath);
  const special = faults.filter((fault) => !GENERAL.includes(fault.keyword) && !isWrongAlternative(fault));
  const [fault = faults[0]] = special;
  return fault === undefined ? "it is not valid" : textOf(schema, fault);
}

function textOf(schema: TSchema, { keyword, schemaPath, instancePath, params, message }: Fault): string {
  const place = placeOf(instancePath);
  const rule = Object(params) as { allowedValues?: string[]; requiredProperties?: string[] };
  if (keyword === "required") return `${[place, rule.requiredProperties?.[0]].filter(Boolean).join(".")} is missing`;
  const about = place === "" ? "it" : place;
  if (keyword === "enum") return `${about} must be ${rule.allowedValues?.join(" or ")}`;
  const keys = schemaPath.split("/").slice(1);
  if (keyword === "boolean") {
    const fields = Object.keys(Object(nodeAt(schema, keys.slice(0, -1))["properties"]));
    return `${about} is no field here: the fields are ${fields.join(", ")}`;
  }
  const description = nodeAt(schema, keys)["description"];
  return `${about} ${message}${typeof description === "string" ? `: ${description}` : ""}`;
}

function nodeAt(schema: TSchema, keys: readonly string[]): Node {
  return keys.reduce((node, key) => Object(node[key]) as Node, schema as Node);
}

/** `/dependsOn/0/when` as `dependsOn[0].when`. */
function placeOf(path: string): string {
  return path
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, "[$1]")
    .replaceAll("/", ".");
}
