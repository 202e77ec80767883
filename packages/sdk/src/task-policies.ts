import type { JobRequest, Priority, RetryPolicy } from "./client/api-types.ts";
import { MainspringError } from "./errors.ts";

/**
 * A key of a job: a text, a text with placeholders such as `customer-{payload.customerId}`, or a function of the payload. Jobs that do not
 * come from `task.submit`, as those of curl or of the command, get keys that are texts: a function stays in its program.
 */
export type TaskKey<P> = string | ((payload: P) => string);

/** Policies for the jobs of a task, whoever submits them. A job's own values come before them, the server's defaults after them. */
export interface TaskPolicies<P = never> {
  /** Pool of the task's workers, and of jobs that name none; default: that of the worker. */
  pool?: string;
  /** Retries after failures. */
  retry?: RetryPolicy;
  /** Hard limit of one attempt, in seconds; 0.001 to 2,592,000. */
  timeoutSec?: number;
  /** Longest time from the due time of an execution to its end, over all attempts, in seconds; 1 to 315,360,000. */
  maxLifetimeSec?: number;
  /** How long a cancelled handler may take to stop, in seconds; 0 to 3600. */
  cancelGraceSec?: number;
  /** How many times its worker may be lost; 1 to 1000. */
  maxLost?: number;
  /** Consequence of a lost worker. */
  onWorkerLost?: "RETRY" | "DEAD";
  /** 0 to 9, or LOW 2, NORMAL 5, HIGH 7, CRITICAL 9. */
  priority?: Priority;
  /** Executions of one key run at most `concurrencyLimit` at once. */
  concurrencyKey?: TaskKey<P>;
  /** 1 to 1,000,000. Needs `concurrencyKey`. */
  concurrencyLimit?: number;
  /** At most one execution that is not final has it. */
  uniqueKey?: TaskKey<P>;
}

/** Job of a task, as far as its policies say. */
export type PolicyFields = Pick<
  JobRequest,
  | "retryPolicy"
  | "timeoutSec"
  | "maxLifetimeSec"
  | "cancelGraceSec"
  | "maxLost"
  | "onWorkerLost"
  | "priority"
  | "concurrencyKey"
  | "concurrencyLimit"
  | "uniqueKey"
>;

const YEAR_MS = 365 * 86_400_000;
type Range = readonly [min: number, max: number, isWhole: boolean];

/** Ranges of numbers, those of the API. */
export const POLICY_RANGES = {
  timeoutSec: [0.001, 30 * 86_400, false],
  maxLifetimeSec: [1, 10 * 365 * 86_400, false],
  cancelGraceSec: [0, 3_600, false],
  maxLost: [1, 1_000, true],
  concurrencyLimit: [1, 1_000_000, true],
} as const satisfies Record<string, Range>;
export const RETRY_RANGES = {
  maxAttempts: [1, 1_000, true],
  initialDelayMs: [0, YEAR_MS, true],
  maxDelayMs: [0, YEAR_MS, true],
} as const satisfies Record<string, Range>;
export const POLICY_NAMES: readonly (keyof TaskPolicies)[] = [
  ...(["pool", "retry", "timeoutSec", "maxLifetimeSec", "cancelGraceSec", "maxLost", "onWorkerLost"] as const),
  ...(["priority", "concurrencyKey", "concurrencyLimit", "uniqueKey"] as const),
];
const PRIORITY_NAMES = ["LOW", "NORMAL", "HIGH", "CRITICAL"];
export const KEY_CHARS_MAX = 255;
const POOL = /^[A-Za-z0-9_][A-Za-z0-9_.:/@=+-]{0,127}$/;
const PLACE = /\{([^{}]*)\}/;
const PATH = /^payload(?:\.[A-Za-z0-9_-]+)+$/;

/** @throws {MainspringError} BAD_OPTION; names the task and the option, and says what would be right */
export function checkPolicies<P>(task: string, policies: TaskPolicies<P>): void {
  const fault = [...faultsOf(policies as TaskPolicies)][0];
  if (fault !== undefined) throw new MainspringError("BAD_OPTION", `task ${JSON.stringify(task)}: ${fault}`);
}

function* faultsOf(policies: TaskPolicies): Generator<string> {
  const { pool, retry, priority, onWorkerLost, concurrencyKey, concurrencyLimit, uniqueKey } = policies;
  if (pool !== undefined && !POOL.test(pool))
    yield "pool: letters, digits and _.:/@=+- are allowed, 1 to 128 characters";
  yield* rangeFaults("", policies, POLICY_RANGES);
  if (retry !== undefined) yield* retryFaults(retry);
  if (onWorkerLost !== undefined && !["RETRY", "DEAD"].includes(onWorkerLost))
    yield "onWorkerLost: must be RETRY or DEAD";
  if (priority !== undefined && !isPriority(priority))
    yield "priority: must be a whole number from 0 to 9, or LOW, NORMAL, HIGH or CRITICAL";
  for (const [name, key] of Object.entries({ concurrencyKey, uniqueKey })) {
    const fault = keyFault(key);
    if (fault !== null) yield `${name}: ${fault}`;
  }
  if (concurrencyLimit !== undefined && concurrencyKey === undefined)
    yield "concurrencyLimit: needs concurrencyKey, whose executions it limits";
}

function* retryFaults(retry: RetryPolicy): Generator<string> {
  if (typeof retry !== "object" || retry === null) return yield "retry: must be an object, as { maxAttempts: 3 }";
  const { backoff, jitter, initialDelayMs, maxDelayMs } = retry;
  const unknown = Object.keys(retry).find((name) => !["backoff", "jitter"].includes(name) && !(name in RETRY_RANGES));
  if (unknown !== undefined)
    yield `retry.${unknown}: is no option: there are maxAttempts, backoff, initialDelayMs, maxDelayMs and jitter`;
  yield* rangeFaults("retry.", retry, RETRY_RANGES);
  if (backoff !== undefined && !["FIXED", "EXPONENTIAL"].includes(backoff))
    yield "retry.backoff: must be FIXED or EXPONENTIAL";
  if (jitter !== undefined && typeof jitter !== "boolean") yield "retry.jitter: must be true or false";
  if (initialDelayMs !== undefined && maxDelayMs !== undefined && maxDelayMs < initialDelayMs)
    yield "retry.maxDelayMs: must be at least initialDelayMs";
}

function* rangeFaults(place: string, given: object, ranges: Readonly<Record<string, Range>>): Generator<string> {
  for (const [name, [min, max, isWhole]] of Object.entries(ranges)) {
    const value = (given as Record<string, unknown>)[name];
    if (value === undefined) continue;
    const isNumber = isWhole ? Number.isInteger(value) : Number.isFinite(value);
    if (!isNumber || (value as number) < min || (value as number) > max)
      yield `${place}${name}: must be a ${isWhole ? "whole " : ""}number from ${min} to ${max}, not ${String(value)}`;
  }
}

function isPriority(priority: Priority): boolean {
  if (typeof priority === "string") return PRIORITY_NAMES.includes(priority);
  return Number.isInteger(priority) && priority >= 0 && priority <= 9;
}

/** null: it is good, or left out. */
function keyFault(key: unknown): string | null {
  if (key === undefined || typeof key === "function") return null;
  if (typeof key !== "string" || key === "" || key.length > KEY_CHARS_MAX)
    return `must be a text of 1 to ${KEY_CHARS_MAX} characters, or a function of the payload`;
  for (const [index, part] of key.split(PLACE).entries()) {
    if (index % 2 === 0 && /[{}]/.test(part))
      return "has a brace that belongs to no placeholder: write {payload.field}";
    if (index % 2 === 1 && !PATH.test(part))
      return `has the placeholder {${part}}: write {payload.field}, with names of letters, digits, _ and -`;
  }
  return null;
}

/** Policies of the task as a worker's hello has them, in JSON; null: it declares none. */
export function declaredText<P>({
  retry,
  concurrencyKey,
  uniqueKey,
  concurrencyLimit,
  ...plain
}: TaskPolicies<P>): string | null {
  const isLimited = typeof concurrencyKey === "string";
  const text = JSON.stringify({
    ...plain,
    retryPolicy: retry,
    concurrencyKey: isLimited ? concurrencyKey : undefined,
    concurrencyLimit: isLimited ? concurrencyLimit : undefined,
    uniqueKey: typeof uniqueKey === "string" ? uniqueKey : undefined,
  });
  return text === "{}" ? null : text;
}

/** Fields of a job of the task. @throws {MainspringError} INVALID_PAYLOAD: a key needs a field that the payload lacks */
export function policyFields<P>(
  task: string,
  { retry, concurrencyKey, uniqueKey, ...plain }: Omit<TaskPolicies<P>, "pool">,
  payload: P,
): PolicyFields {
  const fields: PolicyFields = { ...plain };
  if (retry !== undefined) fields.retryPolicy = retry;
  if (concurrencyKey !== undefined) fields.concurrencyKey = keyOf(task, "concurrencyKey", concurrencyKey, payload);
  if (uniqueKey !== undefined) fields.uniqueKey = keyOf(task, "uniqueKey", uniqueKey, payload);
  return fields;
}

function keyOf<P>(task: string, name: string, key: TaskKey<P>, payload: P): string {
  const refuse = (message: string): never => {
    throw new MainspringError("INVALID_PAYLOAD", `task ${JSON.stringify(task)}: ${name} ${message}`);
  };
  const made: unknown = typeof key === "function" ? key(payload) : filled(key, payload, refuse);
  if (typeof made !== "string" || made === "" || made.length > KEY_CHARS_MAX)
    return refuse(`must give a text of 1 to ${KEY_CHARS_MAX} characters`);
  return made;
}

function filled(key: string, payload: unknown, refuse: (message: string) => never): string {
  return key
    .split(PLACE)
    .map((part, index) => (index % 2 === 0 ? part : fieldOf(payload, part, refuse)))
    .join("");
}

function fieldOf(payload: unknown, path: string, refuse: (message: string) => never): string {
  let value = payload;
  for (const name of path.split(".").slice(1)) {
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, name);
    value = isThere ? (value as Record<string, unknown>)[name] : undefined;
  }
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  return refuse(`needs ${path}: a text, a number, true or false`);
}
