/** Conditions of a statement that depend on the request, with their parameters. */
export class Conditions {
  readonly values: unknown[];
  readonly #parts: string[] = [];

  /** @param values parameters of the statement so far, which other conditions of it may share; default: none */
  constructor(values: unknown[] = []) {
    this.values = values;
  }

  /** @param text condition with `?` as the place of the parameter */
  add(text: string, value: unknown): this {
    this.#parts.push(text.replace("?", this.value(value)));
    return this;
  }

  /** @param text condition without parameters */
  fixed(text: string): this {
    this.#parts.push(text);
    return this;
  }

  /** Adds a parameter with this value, and returns its name for a part of the statement outside the conditions. */
  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  get text(): string {
    return this.#parts.length === 0 ? "true" : this.#parts.join(" AND ");
  }
}

/** Makes a page of a list. The query has read one item more than the page, to see whether there are more. */
export function listing<T>(items: T[], limit: number, idOf: (item: T) => string): { items: T[]; next: string | null } {
  if (items.length <= limit) return { items, next: null };
  const page = items.slice(0, limit);
  return { items: page, next: idOf(page[limit - 1] as T) };
}
