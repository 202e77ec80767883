import { isDeepStrictEqual } from "node:util";
import { invariant } from "../../domain/invariant.ts";

type Node = Record<string, unknown>;

/** Parts of an OpenAPI document that contain schemas. */
interface Document {
  paths?: object;
  components?: { schemas?: object };
}

/** Keys whose values neither are nor contain schemas. */
const VALUES: readonly string[] = ["const", "default", "enum", "example", "examples"];

/**
 * Moves every schema with a `title` into `components.schemas` under this name, and leaves references behind. A use
 * whose description differs from that of the named schema keeps its own beside the reference.
 * @param declared schemas whose own description counts; other schemas get the description of their first use
 * @throws two schemas with one name differ
 */
export function nameSchemas<D extends Document>(document: D, declared: object): D {
  const lifter = new Lifter();
  lifter.lift(declared);
  lifter.lift(document.components?.schemas);
  const paths = lifter.lift(document.paths);
  const schemas = Object.fromEntries(Object.entries(lifter.schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { ...document, paths, components: { ...document.components, schemas } };
}

class Lifter {
  readonly schemas: Record<string, Node> = {};

  lift(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.lift(item));
    if (typeof value !== "object" || value === null) return value;
    const parts = Object.entries(value).map(([key, part]) => [key, VALUES.includes(key) ? part : this.lift(part)]);
    const node: Node = Object.fromEntries(parts);
    const { title, ...schema } = node;
    return typeof title === "string" ? this.#reference(title, schema) : node;
  }

  #reference(name: string, schema: Node): Node {
    const $ref = `#/components/schemas/${name}`;
    const known = (this.schemas[name] ??= schema);
    const { description, ...rest } = schema;
    const { description: ofKnown, ...restOfKnown } = known;
    invariant(isDeepStrictEqual(rest, restOfKnown), `two schemas of the API are named ${name}`);
    return description === undefined || description === ofKnown ? { $ref } : { $ref, description };
  }
}
