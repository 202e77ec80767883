/** A JSON text that an answer contains unchanged. */
export class RawJson {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** A payload or result as an answer shows it: its original bytes, or null. */
export function rawOrNull(bytes: Uint8Array | null): RawJson | null {
  return bytes === null ? null : new RawJson(bytes);
}

/** Text of an object that has `RawJson` among its members, for a member of an answer's outermost object. */
export function nested<T extends object>(value: T): T {
  return new RawJson(Buffer.from(writeJson(value))) as unknown as T;
}

/** The same for a list of such objects. */
export function nestedList<T extends object>(values: readonly T[]): T[] {
  return new RawJson(Buffer.from(`[${values.map(writeJson).join(",")}]`)) as unknown as T[];
}

/** Like JSON.stringify, except that members of the outermost object may be `RawJson`. */
export function writeJson(value: unknown): string {
  if (!holdsRaw(value)) return JSON.stringify(value);
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    const text = member instanceof RawJson ? textOf(member.bytes) : JSON.stringify(member);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

function holdsRaw(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).some((member) => member instanceof RawJson);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
