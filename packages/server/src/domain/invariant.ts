/** A bug: something that cannot be has come about. The code that meets one stops its work. */
class InvariantViolated extends Error {
  override readonly name = "InvariantViolated";
}

export function invariant(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvariantViolated(what);
}
