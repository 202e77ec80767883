/**
 * Deep copy of a message with JSON values and bytes, as another process would get it. It is several times as fast as
 * structuredClone, which took a third of a simulation's time.
 */
export function copied<T>(value: T): T {
  return copiedAny(value) as T;
}

function copiedAny(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copiedAny);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) copy[name] = copiedAny((value as Record<string, unknown>)[name]);
  return copy;
}
