import { HandlerPolicies } from "@mainspring/contract";
import { POLICIES_BYTES_MAX } from "@mainspring/contract/limits";
import type { PolicyFault, ReadPolicies } from "../../ports/handler-policies.ts";
import type { FieldError } from "../http/errors.ts";
import { compileCheck } from "../http/validation.ts";
import { parseKey } from "./key-template.ts";

/** In the order in which policies are kept, so that equal ones have the same text. */
const FIELDS = Object.keys(HandlerPolicies.properties) as (keyof HandlerPolicies)[];
const RETRY_FIELDS = Object.keys(HandlerPolicies.properties.retryPolicy.properties).sort();
const check = compileCheck(HandlerPolicies);

/** Reads what a worker declares for a handler, by the rules that the fields of a job have. @param pool of the worker */
export function readPolicies(pool: string, handler: string, text: Uint8Array): ReadPolicies | PolicyFault {
  const told = (fault: string) => ({ fault: `the task ${JSON.stringify(handler)}: ${fault}` });
  if (text.length > POLICIES_BYTES_MAX)
    return told(`its policies have ${text.length} bytes, at most ${POLICIES_BYTES_MAX} are taken`);
  const given = objectOf(text);
  if (given === null) return told("its policies are no JSON object");
  const { pool: home, ...fields } = given;
  if (home !== undefined && home !== pool)
    return told(
      `pool is ${JSON.stringify(home)}, and its worker serves ${JSON.stringify(pool)}: they must be the same`,
    );
  const unknown = Object.keys(fields).filter((name) => !FIELDS.includes(name as keyof HandlerPolicies));
  const policies = known(fields);
  const [wrong] = check.ok(policies) ? faultsOf(policies) : check.errors(policies);
  if (wrong !== undefined) return told(`${wrong.field} ${wrong.message}`);
  return { isHome: home !== undefined, policies: JSON.stringify(policies), unknown };
}

/** null: it is none. */
function objectOf(text: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf8", { fatal: true }).decode(text));
    return typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

function known(given: Record<string, unknown>): Record<string, unknown> {
  const { retryPolicy } = given;
  const isObject = typeof retryPolicy === "object" && retryPolicy !== null && !Array.isArray(retryPolicy);
  const retry = isObject ? inOrder(retryPolicy as Record<string, unknown>, RETRY_FIELDS) : retryPolicy;
  return inOrder({ ...given, retryPolicy: retry }, FIELDS);
}

function inOrder(given: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(given, name) && given[name] !== undefined ? [[name, given[name]]] : [])),
  );
}

/** Faults that the schema cannot express. */
function faultsOf({ concurrencyKey, uniqueKey, retryPolicy = {} }: HandlerPolicies): FieldError[] {
  const errors: FieldError[] = [];
  for (const [field, key] of Object.entries({ concurrencyKey, uniqueKey })) {
    const template = key === undefined ? [] : parseKey(key);
    if (typeof template === "string") errors.push({ field, message: template });
  }
  const { initialDelayMs, maxDelayMs } = retryPolicy;
  if (initialDelayMs !== undefined && maxDelayMs !== undefined && maxDelayMs < initialDelayMs)
    errors.push({ field: "retryPolicy.maxDelayMs", message: "must be at least initialDelayMs" });
  return errors;
}
