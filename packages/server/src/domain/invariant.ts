/** A bug: something that cannot be has come about. Whoever meets one stops what it was doing. */
class InvariantViolated extends Error {
  override readonly name = "InvariantViolated";
}

export function invariant(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvariantViolated(what);
}
