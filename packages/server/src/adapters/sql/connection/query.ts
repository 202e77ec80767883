/** Conditions of a statement that depend on what was asked for, with their parameters. */
export class Conditions {
  readonly values: unknown[] = [];
  readonly #parts: string[] = [];

  /** @param text with `?` where the parameter goes */
  add(text: string, value: unknown): this {
    this.#parts.push(text.replace("?", this.value(value)));
    return this;
  }

  /** @param text without parameters */
  fixed(text: string): this {
    this.#parts.push(text);
    return this;
  }

  /** The name of a parameter with this value, for a part of the statement beside the conditions. */
  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  get text(): string {
    return this.#parts.length === 0 ? "true" : this.#parts.join(" AND ");
  }
}

/** Cuts the one item more than the page that was read to see whether there is more. */
export function listing<T>(items: T[], limit: number, idOf: (item: T) => string): { items: T[]; next: string | null } {
  if (items.length <= limit) return { items, next: null };
  const page = items.slice(0, limit);
  return { items: page, next: idOf(page[limit - 1] as T) };
}
