/** Error: the holder of a key released it between two statements, so the whole submit is tried again. */
export class KeyVanished extends Error {
  override readonly name = "KeyVanished";
}
