/** A violated invariant, which is a bug. The code that detects one stops its work. */
class InvariantViolated extends Error {
  override readonly name = "InvariantViolated";
}

export function invariant(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvariantViolated(what);
}
