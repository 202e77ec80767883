import { create } from "@bufbuild/protobuf";
import { AnyValueSchema, type KeyValue, KeyValueSchema } from "@mainspring/proto/otlp";

/** Attributes by name. A null leaves its attribute out. */
export function attributesOf(values: Readonly<Record<string, string | number | null>>): KeyValue[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === null) return [];
    const one =
      typeof value === "string"
        ? ({ case: "stringValue", value } as const)
        : ({ case: "intValue", value: BigInt(value) } as const);
    return [create(KeyValueSchema, { key, value: create(AnyValueSchema, { value: one }) })];
  });
}

/** Time of the protocol, in nanoseconds. @param ms milliseconds since 1970 */
export function nanosOf(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1_000_000n;
}
