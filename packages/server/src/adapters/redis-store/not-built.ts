/** An operation of the port that the store on Redis does not have yet. docs/internals/redis-store.md names them. */
export class NotBuilt extends Error {
  override readonly name = "NotBuilt";

  constructor(operation: string) {
    super(`the store on Redis does not have ${operation} yet`);
  }
}

/** A part of the port in which only some operations are built; the others reject with `NotBuilt`. */
export function partly<T extends object>(part: string, built: Partial<T>): T {
  return new Proxy(built as T, {
    get: (target, name) =>
      typeof name === "symbol" || name in target
        ? Reflect.get(target, name)
        : () => Promise.reject(new NotBuilt(`${part}.${name}`)),
  });
}
