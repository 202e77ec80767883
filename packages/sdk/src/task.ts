import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ChangedJob, JobOptions, JobRequest } from "./client/api-types.ts";
import type { Client } from "./client/client.ts";
import { JobHandle } from "./client/handle.ts";
import type { RecurringJobRequest } from "./client/recurring-types.ts";
import type { ReadOptions } from "./client/requests.ts";
import { partedOptions, type SubmitOptions } from "./client/submit-options.ts";
import { MainspringError } from "./errors.ts";
import type { TaskContext } from "./handlers/context.ts";
import { type Isolation, isolatedRun } from "./isolation/isolation.ts";
import type { ResultOf } from "./jsonify.ts";
import { validate, validated } from "./schema.ts";
import { systemRuntime } from "./system-runtime.ts";
import { checkPolicies, declaredText, POLICY_NAMES, policyFields, type TaskPolicies } from "./task-policies.ts";
import {
  checkSchedule,
  type DeclaredSchedule,
  declaredSchedule,
  type ScheduleTimes,
  type TaskSchedule,
} from "./task-schedules.ts";

interface CommonOptions<S extends StandardSchemaV1 | undefined, P = unknown> extends TaskPolicies<P> {
  /** Name of the task, which jobs name as their handler. */
  name: string;
  /** When it recurs by itself, once a program has called `client.applySchedules`: a cron expression in UTC, or times. */
  schedule?: TaskSchedule<P>;
  /**
   * Schema of the payload: any Standard Schema (zod, valibot, arktype, …). Checked at the submit and again before the
   * handler runs.
   */
  schema?: S;
}

/** Payload as programs give it. */
type GivenPayload<S extends StandardSchemaV1 | undefined, P> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : P;

export interface TaskOptions<S extends StandardSchemaV1 | undefined, P, R>
  extends CommonOptions<S, GivenPayload<S, P>> {
  /**
   * Handler. Its return value is the result: any JSON value, at most 1 MiB. The handler runs at least once. After an
   * error, the job's policy decides about retries, except for `TerminalError` and `RetryAtError`.
   */
  run(payload: P, ctx: TaskContext): R | Promise<R>;
}

/** A task whose handler runs in a process or thread of its own, so that it can be killed. */
export interface IsolatedTaskOptions<S extends StandardSchemaV1 | undefined, P = unknown>
  extends CommonOptions<S, GivenPayload<S, P>> {
  isolate: Isolation;
}

/** Options of a job, and how to submit it. */
export interface TaskSubmitOptions extends JobOptions, SubmitOptions {
  /** Pool of the workers that run the job; default: the one of the task, else `default`. */
  pool?: string;
  /** Capabilities that a worker must have. */
  requires?: readonly string[];
}

/**
 * A handler together with typed functions that submit its jobs. R is the type of its result as it arrives, as JSON;
 * Returned is what the handler returns.
 */
export interface Task<Input = never, R = unknown, Returned = R> {
  readonly name: string;
  /** Pool of its workers; left out: any. */
  readonly pool?: string;
  /** Declarations for the hello of its workers: JSON text; left out: nothing. */
  readonly policies?: string;
  /** Runs the handler in this process, as a worker does: checks the payload first. */
  invoke(payload: unknown, ctx: TaskContext): Returned | Promise<Returned>;
  /**
   * Replaces `invoke` for a handler that neither reads nor creates values: turns the payload's JSON text ("" for none)
   * into the result's JSON text.
   */
  readonly forward?: (payload: string) => string;
  /** Recurring job that the task declares; left out: none. */
  readonly declaredSchedule?: DeclaredSchedule;
  /**
   * The request that `submit` sends, for `client.submitBatch`.
   * @throws {MainspringError} INVALID_PAYLOAD
   */
  job(payload: Input, options?: Omit<TaskSubmitOptions, keyof SubmitOptions>): Promise<JobRequest>;
  /** @throws {MainspringError} INVALID_PAYLOAD before anything is sent, or the server's error */
  submit(client: Client, payload: Input, options?: TaskSubmitOptions): Promise<JobHandle<R>>;
  /**
   * Submits a job for each payload, a hundred in a request. One that is refused does not stop the others.
   * @param options of all jobs, or those of each
   * @returns the jobs in order; in place of one that was refused its error
   * @throws what the signal says where it ends the wait
   */
  submitMany(
    client: Client,
    payloads: readonly Input[],
    options?: Omit<TaskSubmitOptions, "idempotencyKey"> | ((payload: Input, index: number) => TaskSubmitOptions),
  ): Promise<(JobHandle<R> | MainspringError)[]>;
  /**
   * Submits a job and waits for its result, however long that takes; the signal ends the wait and leaves the job.
   * @throws {ExecutionFailed} it did not succeed
   * @throws {MainspringError} as `submit`
   */
  call(client: Client, payload: Input, options?: TaskSubmitOptions): Promise<R>;
  /**
   * Makes the recurring job of this name what it is to be, and submits it where there is none. A repeat changes nothing.
   * @param times a schedule or an interval, and how it recurs; further options of its jobs
   * @throws {MainspringError} as `submit`
   */
  schedule(
    client: Client,
    name: string,
    times: ScheduleTimes & RecurringOptions,
    payload: Input,
    options?: ReadOptions,
  ): Promise<ChangedJob>;
}

/** Options of a recurring job of a task. */
export type RecurringOptions = Omit<
  TaskSubmitOptions,
  keyof SubmitOptions | "name" | "runAt" | "delayMs" | "startBefore"
>;

/** Defines a task whose payload a schema checks. */
export function task<S extends StandardSchemaV1, R>(
  options: TaskOptions<S, StandardSchemaV1.InferOutput<S>, R> & { schema: S },
): Task<StandardSchemaV1.InferInput<S>, ResultOf<R>, R>;
/** Defines a task whose payload is not checked. */
export function task<P, R>(options: TaskOptions<undefined, P, R>): Task<P, ResultOf<R>, R>;
/**
 * Defines a task whose handler, `(payload, ctx) => result` as usual, is exported by a module and runs in a process or
 * thread of its own. A handler that blocks, or ignores its cancellation or timeout, is killed when the grace time is
 * over.
 */
export function task<S extends StandardSchemaV1, R>(
  options: IsolatedTaskOptions<S> & { schema: S },
): Task<StandardSchemaV1.InferInput<S>, ResultOf<R>, R>;
export function task<P, R>(options: IsolatedTaskOptions<undefined, P>): Task<P, ResultOf<R>, R>;
export function task(options: AnyTaskOptions<unknown>): Task<never, unknown> {
  const { name, schema } = options;
  const policies = policiesOf(options);
  checkPolicies(name, policies);
  const declared = declaredText(policies);
  const { schedule } = options;
  if (schedule !== undefined) checkSchedule(name, schedule);
  const given = "run" in options ? options.run : isolatedRun(options.isolate, systemRuntime(false));
  const run = given as (payload: unknown, ctx: TaskContext) => unknown;
  const job = async (payload: unknown, jobOptions: TaskSubmitOptions = {}) => {
    // The client sends the payload as the caller gave it, not the schema's output, because the worker checks the
    // payload again and a schema that transforms would not accept its own output.
    if (schema !== undefined) await validated(name, schema, payload);
    return requestOf(name, policies, payload, jobOptions);
  };
  const submit: Task<unknown, unknown>["submit"] = async (client, payload, options = {}) => {
    const { ofSubmit, others } = partedOptions(options);
    const request = await job(payload, others);
    return new JobHandle(client, await client.submit(request, ofSubmit));
  };
  return {
    name,
    ...(policies.pool !== undefined && { pool: policies.pool }),
    ...(declared !== null && { policies: declared }),
    invoke: schema === undefined ? run : (payload, ctx) => runChecked(name, schema, run, payload, ctx),
    ...(schedule !== undefined && { declaredSchedule: declaredSchedule(name, schedule, job) }),
    job,
    submit,
    async submitMany(client, payloads, options = {}) {
      if ("idempotencyKey" in options && options.idempotencyKey !== undefined) throw manyKeys(name);
      const optionsOf = typeof options === "function" ? (options as OptionsOf) : () => options;
      const jobs: (JobHandle<unknown> | MainspringError)[] = [];
      for (let from = 0; from < payloads.length; from += SUBMITS_AT_ONCE) {
        const part = payloads.slice(from, from + SUBMITS_AT_ONCE);
        const submits = part.map(async (payload, at) => submit(client, payload, optionsOf(payload, from + at)));
        jobs.push(...(await Promise.allSettled(submits)).map(jobOrError));
      }
      return jobs;
    },
    async call(client, payload, options = {}) {
      const { signal } = options;
      return (await submit(client, payload, options)).result(signal && { signal });
    },
    async schedule(client, recurringName, times, payload, options) {
      const recurring = { ...(await job(payload, times)) } as RecurringJobRequest;
      return await client.jobs.upsert(recurringName, recurring, options);
    },
  };
}

/** @throws {MainspringError} BAD_OPTION: there is no such option */
function policiesOf({ name, ...options }: AnyTaskOptions<unknown>): TaskPolicies<unknown> {
  const policies: Record<string, unknown> = {};
  for (const [option, value] of Object.entries(options)) {
    if (["schema", "run", "isolate", "schedule"].includes(option)) continue;
    if (!POLICY_NAMES.includes(option as keyof TaskPolicies))
      throw new MainspringError(
        "BAD_OPTION",
        `task ${JSON.stringify(name)}: there is no option ${option}; policies are ${POLICY_NAMES.join(", ")}`,
      );
    if (value !== undefined) policies[option] = value;
  }
  return policies;
}

/** Payloads of `submitMany` that are on their way at once. */
const SUBMITS_AT_ONCE = 5_000;
type OptionsOf = (payload: unknown, index: number) => TaskSubmitOptions;

function jobOrError<Handle>(submit: PromiseSettledResult<Handle>): Handle | MainspringError {
  if (submit.status === "fulfilled") return submit.value;
  if (submit.reason instanceof MainspringError) return submit.reason;
  throw submit.reason;
}

function manyKeys(name: string): MainspringError {
  const message = "one key names one job: give options as a function, (payload, index) => ({ idempotencyKey: … })";
  return new MainspringError("BAD_OPTION", `task ${JSON.stringify(name)}: idempotencyKey: ${message}`);
}

type AnyTaskOptions<R> = (
  | Omit<TaskOptions<StandardSchemaV1 | undefined, never, R>, "schedule">
  | Omit<IsolatedTaskOptions<StandardSchemaV1 | undefined>, "schedule">
) & { schedule?: TaskSchedule<unknown> };

function runChecked<R>(
  name: string,
  schema: StandardSchemaV1,
  run: (payload: unknown, ctx: TaskContext) => R | Promise<R>,
  payload: unknown,
  ctx: TaskContext,
): R | Promise<R> {
  const value = validate(name, schema, payload);
  return value instanceof Promise ? value.then((late) => run(late, ctx)) : run(value, ctx);
}

function requestOf(
  handler: string,
  policies: TaskPolicies<unknown>,
  payload: unknown,
  { pool = policies.pool, requires, ...rest }: TaskSubmitOptions,
): JobRequest {
  const own = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)) as typeof rest;
  const left = Object.fromEntries(
    Object.entries(policies).filter(([name]) => name !== "pool" && !(name in own)),
  ) as TaskPolicies<unknown>;
  if (own.retryPolicy !== undefined) delete left.retry;
  return {
    target: { handler, ...(pool !== undefined && { pool }), ...(requires && { requires }) },
    ...(payload !== undefined && { payload }),
    ...policyFields(handler, left, payload),
    ...own,
  };
}
