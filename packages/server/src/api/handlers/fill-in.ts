import { type HandlerPolicies, type JobSubmission, Line } from "@mainspring/contract";
import { LINE_CHARS_MAX, TEMPLATE_PAYLOAD_BYTES_MAX } from "@mainspring/contract/limits";
import { DEFAULT_POOL } from "../../domain/job.ts";
import type { PoolOf } from "../../security/tenant-ring.ts";
import { type FieldError, invalid, type Problem } from "../http/errors.ts";
import { compileCheck } from "../http/validation.ts";
import type { PolicyBook } from "./kept-policies.ts";
import { fillKey, isConstant, type KeyTemplate, parseKey } from "./key-template.ts";

/** Name space of a job's pool. */
export interface NameSpace {
  tenant: string;
  poolOf: PoolOf;
}

const keyCheck = compileCheck(Line("a key"));

/**
 * The job with what it leaves out filled in from the policies of its handler; a retry policy is one value.
 * @param payload JSON text; null: none
 * @param poolOf tells the stored name of the pool that the tenant of the job means
 * @returns the job, with the stored name of its pool. The problem: a key needs a field that the payload lacks
 */
export function filledIn(
  given: JobSubmission,
  payload: Uint8Array | null,
  book: PolicyBook,
  { tenant, poolOf }: NameSpace,
): JobSubmission | Problem {
  const { target } = given;
  const { handler } = target;
  const pool = target.pool === undefined ? book.homeOf(tenant, handler) : poolOf(tenant, target.pool);
  const stored = pool ?? poolOf(tenant, DEFAULT_POOL);
  // Most jobs mean the pool that they name, and need no copy.
  const job =
    stored === (target.pool ?? DEFAULT_POOL) && (target.pool !== undefined || pool === null)
      ? given
      : { ...given, target: { ...target, pool: stored } };
  const policies = book.of(stored, handler);
  if (policies === null) return job;
  const { concurrencyLimit, concurrencyKey, uniqueKey, ...plain } = policies;
  const keys = keysOf({ concurrencyKey, uniqueKey }, job, payload);
  if ("status" in keys) return keys;
  const hasKey = (job.concurrencyKey ?? keys.concurrencyKey) !== undefined;
  return {
    ...plain,
    ...(hasKey && concurrencyLimit !== undefined && { concurrencyLimit }),
    ...keys,
    ...job,
  };
}

type Keys = Pick<HandlerPolicies, "concurrencyKey" | "uniqueKey">;

/** Keys that the policies have and the job leaves out. */
function keysOf(
  templates: { [Key in keyof Keys]: string | undefined },
  job: JobSubmission,
  payload: Uint8Array | null,
): Keys | Problem {
  const keys: Keys = {};
  const lazyPayload = { value: undefined as unknown, isParsed: false };
  for (const field of ["concurrencyKey", "uniqueKey"] as const) {
    const text = templates[field];
    if (text === undefined || job[field] !== undefined) continue;
    // Templates were checked when they were declared.
    const template = parseKey(text) as KeyTemplate;
    if (isConstant(template)) {
      keys[field] = text;
      continue;
    }
    const size = payload?.length ?? 0;
    if (size > TEMPLATE_PAYLOAD_BYTES_MAX) return refused(field, job, text, tooLarge(size));
    if (!lazyPayload.isParsed) Object.assign(lazyPayload, { value: parsed(payload), isParsed: true });
    const key = fillKey(template, lazyPayload.value);
    if (typeof key !== "string")
      return refused(field, job, text, `needs ${key.missing}: send it as a text, a number, true or false`);
    if (!keyCheck.ok(key))
      return refused(field, job, text, `makes a key that is no line of 1 to ${LINE_CHARS_MAX} characters`);
    keys[field] = key;
  }
  return keys;
}

function parsed(payload: Uint8Array | null): unknown {
  return payload === null
    ? null
    : JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString());
}

function tooLarge(bytes: number): string {
  return `is filled in from payloads of at most ${TEMPLATE_PAYLOAD_BYTES_MAX} bytes, and this one has ${bytes}`;
}

function refused(field: keyof Keys, { target }: JobSubmission, template: string, why: string): Problem {
  const task = `the task ${JSON.stringify(target.handler)} declares ${JSON.stringify(template)}, which`;
  const errors: FieldError[] = [{ field, message: `is missing: ${task} ${why}; or give ${field} in the job` }];
  return invalid(errors);
}
