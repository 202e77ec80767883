import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { OversizeJson } from "./body/json-body.ts";
import type { FieldError } from "./errors.ts";
import { faultsOf } from "./faults.ts";

export interface Check<T extends TSchema> {
  ok(value: unknown): value is Static<T>;
  /** First faults of an invalid value, eight at most. */
  errors(value: unknown, max?: number): FieldError[];
}

export const ERRORS_MAX = 8;

export function compileCheck<T extends TSchema>(schema: T): Check<T> {
  const validator = Compile(schema);
  return {
    ok: (value): value is Static<T> => !(value instanceof OversizeJson) && validator.Check(value),
    errors: (value, max = ERRORS_MAX) =>
      value instanceof OversizeJson
        ? oversizeFaults(schema, value, max)
        : firstOf(faultsOf(schema, value), max, () => true),
  };
}

/**
 * Faults of an oversize value: its size, and the faults of its head. Fields that the head lacks may follow later, so
 * they are no faults.
 */
function oversizeFaults(schema: TSchema, { head, fault }: OversizeJson, max: number): FieldError[] {
  return [fault, ...firstOf(faultsOf(schema, head), max - 1, ({ message }) => message !== "is missing")];
}

function firstOf(faults: Iterable<FieldError>, max: number, wanted: (fault: FieldError) => boolean): FieldError[] {
  const found: FieldError[] = [];
  for (const fault of faults) {
    if (found.length >= max) break;
    if (wanted(fault)) found.push(fault);
  }
  return found;
}
