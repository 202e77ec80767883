/** A file is not a valid TZif file; the message says which part is wrong. */
export class BadTzif extends Error {
  override readonly name = "BadTzif";
}

/** Largest offset from UTC in seconds; no local time ever differed by more. */
export const OFFSET_MAX_SEC = 16 * 3_600;
