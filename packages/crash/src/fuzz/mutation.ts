import fc from "fast-check";

/** Mutations of the bytes of a message. */
export type Mutation =
  | { kind: "FLIP"; at: number; with: number }
  | { kind: "CUT"; at: number; length: number }
  | { kind: "PUT"; at: number; bytes: Uint8Array }
  | { kind: "TWICE"; at: number; length: number };

const at = fc.nat(100_000);
const length = fc.nat(40);

export const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constant("FLIP" as const), at, with: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ kind: fc.constant("CUT" as const), at, length }),
  fc.record({ kind: fc.constant("PUT" as const), at, bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }) }),
  fc.record({ kind: fc.constant("TWICE" as const), at, length }),
);

export function mutated(bytes: Uint8Array, mutations: readonly Mutation[]): Buffer {
  return mutations.reduce(mutatedOnce, Buffer.from(bytes));
}

function mutatedOnce(bytes: Buffer, change: Mutation): Buffer {
  const place = change.at % (bytes.length + 1);
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  switch (change.kind) {
    case "FLIP": {
      const copy = Buffer.from(bytes);
      if (place < copy.length) copy[place] = (copy[place] as number) ^ change.with;
      return copy;
    }
    case "CUT":
      return Buffer.concat([before, after.subarray(change.length)]);
    case "PUT":
      return Buffer.concat([before, change.bytes, after]);
    case "TWICE":
      return Buffer.concat([before, after.subarray(0, change.length), after]);
  }
}
