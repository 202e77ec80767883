import { API_KEY_KINDS, type ApiKeyKind, type Scope } from "@mainspring/contract/enums";

export type { ApiKeyKind, Scope } from "@mainspring/contract/enums";

/**
 * Format, kinds and rights of API keys. A key is `ms`, the letter of its kind, `_`, 38 random characters and a checksum of
 * six, all of the alphabet below, so that a scanner for secrets finds it and a double click selects it as a whole.
 */
export const KEY_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Number of random characters of a key, which have 226 bits. */
export const KEY_RANDOM_CHARS = 38;
const CHECKSUM_CHARS = 6;

/** Keys within a text. */
export const KEYS_IN_TEXT = /\bms[acmorw]_[0-9A-Za-z]{44}\b/g;
const KEY = /^ms[acmorw]_[0-9A-Za-z]{44}$/;
const PREFIX_CHARS = 4;

const LETTERS: Record<ApiKeyKind, string> = {
  CLIENT: "c",
  WORKER: "w",
  READER: "r",
  TENANT_ADMIN: "a",
  OPERATOR: "o",
  METRICS: "m",
};

/** Scopes that a key of the kind may have, and has unless it was created with fewer. */
export const SCOPES_OF: Record<ApiKeyKind, readonly Scope[]> = {
  CLIENT: ["jobs:submit", "jobs:write", "jobs:read", "runs:control"],
  WORKER: ["worker:serve"],
  READER: ["jobs:read"],
  TENANT_ADMIN: ["jobs:submit", "jobs:write", "jobs:read", "runs:control", "tenant:admin"],
  OPERATOR: [
    ...(["jobs:submit", "jobs:write", "jobs:read", "runs:control", "tenant:admin", "worker:serve"] as const),
    ...(["metrics:read", "system:admin", "tenants:act"] as const),
  ],
  METRICS: ["metrics:read"],
};

/** Kinds of keys that belong to no tenant. Only operators create and see them. */
export const KINDS_OF_OPERATORS: readonly ApiKeyKind[] = ["OPERATOR", "METRICS"];

/** Pools of a key that may serve every pool. */
export const EVERY_POOL: readonly string[] = ["*"];

/** @param random `KEY_RANDOM_CHARS` characters of the alphabet */
export function keyText(kind: ApiKeyKind, random: string): string {
  const body = `ms${LETTERS[kind]}_${random}`;
  return body + checksumOf(body);
}

/** Kind of a key; null: the text is no key, or its checksum is wrong, as of a key with a typing error. */
export function keyKind(text: string): ApiKeyKind | null {
  if (!KEY.test(text)) return null;
  const body = text.slice(0, -CHECKSUM_CHARS);
  if (checksumOf(body) !== text.slice(-CHECKSUM_CHARS)) return null;
  return API_KEY_KINDS.find((kind) => LETTERS[kind] === text.charAt(2)) ?? null;
}

/** Beginning and end of a key, by which people tell it from others. */
export function keyHint(text: string): string {
  return `${text.slice(0, PREFIX_CHARS)}…${text.slice(-4)}`;
}

/** Whether a pool is among those of a key. @param globs names of pools, in which `*` stands for any characters */
export function servesPool(globs: readonly string[], pool: string): boolean {
  return globs.some((glob) => fits(glob.split("*"), pool));
}

/** @param parts texts between the stars of a glob. The search takes time in proportion to the name, for each star. */
function fits(parts: readonly string[], name: string): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}

/** CRC-32 of a text of ASCII characters, as six characters of the alphabet. */
function checksumOf(text: string): string {
  let crc = -1;
  for (let i = 0; i < text.length; i++) crc = (CRC_TABLE[(crc ^ text.charCodeAt(i)) & 0xff] as number) ^ (crc >>> 8);
  let rest = ~crc >>> 0;
  let digits = "";
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    digits = KEY_ALPHABET.charAt(rest % KEY_ALPHABET.length) + digits;
    rest = Math.floor(rest / KEY_ALPHABET.length);
  }
  return digits;
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
