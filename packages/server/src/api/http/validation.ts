import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { FieldError } from "./errors.ts";
import { faultsOf } from "./faults.ts";
import { OversizeJson } from "./json-body.ts";

export interface Check<T extends TSchema> {
  ok(value: unknown): value is Static<T>;
  /** First faults of a value that is not ok, eight at most. */
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

/** Its size, and the faults of its head; what its head lacks may follow later. */
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
