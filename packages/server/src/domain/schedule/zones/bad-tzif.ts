/** A file that is no TZif file; the message says which part is wrong. */
export class BadTzif extends Error {
  override readonly name = "BadTzif";
}

/** No clock was ever further from UTC. */
export const OFFSET_MAX_SEC = 16 * 3_600;
