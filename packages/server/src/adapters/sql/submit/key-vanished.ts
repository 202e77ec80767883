/** Somebody who held a key let go of it between two statements; all is to be tried again. */
export class KeyVanished extends Error {
  override readonly name = "KeyVanished";
}
