/** A JSON text that is written into an answer as it is. */
export class RawJson {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** A payload or result as an answer shows it: its own bytes, or null. */
export function rawOrNull(bytes: Uint8Array | null): RawJson | null {
  return bytes === null ? null : new RawJson(bytes);
}

/** JSON.stringify, but members of the outermost object may be `RawJson`. */
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
