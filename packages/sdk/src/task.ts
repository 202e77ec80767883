import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JobOptions, JobRequest, RetryPolicy } from "./api-types.ts";
import type { Client, SubmitOptions } from "./client.ts";
import type { TaskContext } from "./context.ts";
import { MainspringError } from "./errors.ts";
import { JobHandle } from "./handle.ts";
import { type Isolation, isolatedRun } from "./isolation.ts";
import { InvalidPayload, validate } from "./schema.ts";
import { systemRuntime } from "./system-runtime.ts";

interface CommonOptions<S extends StandardSchemaV1 | undefined> {
  /** Name that jobs give as their handler. */
  name: string;
  /** Any Standard Schema (zod, valibot, arktype, …). Checked at submit and again before it runs. */
  schema?: S;
  /** Retry policy of the jobs that this task submits; default: the server's. */
  retry?: RetryPolicy;
}

export interface TaskOptions<S extends StandardSchemaV1 | undefined, P, R> extends CommonOptions<S> {
  /**
   * Does the work. Its return value is the result: any JSON value, at most 1 MiB.
   * It runs at least once; what it throws is retried by the job's policy, but for `TerminalError` and `RetryAtError`.
   */
  run(payload: P, ctx: TaskContext): R | Promise<R>;
}

/** A task whose handler runs in a process or thread of its own, so that it can be killed. */
export interface IsolatedTaskOptions<S extends StandardSchemaV1 | undefined> extends CommonOptions<S> {
  isolate: Isolation;
}

/** Options of a job, and how to submit it. */
export interface TaskSubmitOptions extends JobOptions, SubmitOptions {
  /** Default `default`. */
  pool?: string;
  /** Capabilities that a worker must have. */
  requires?: readonly string[];
}

/** A handler and its typed caller in one. */
export interface Task<Input = never, R = unknown> {
  readonly name: string;
  /** Runs the handler here and now, as a worker does: with the payload checked first. */
  invoke(payload: unknown, ctx: TaskContext): R | Promise<R>;
  /**
   * In place of `invoke` where the handler neither reads nor makes values: JSON text of the payload, "" for none, to
   * that of the result.
   */
  readonly forward?: (payload: string) => string;
  /**
   * The request that `submit` sends, for `client.submitBatch`.
   * @throws {MainspringError} INVALID_PAYLOAD
   */
  job(payload: Input, options?: Omit<TaskSubmitOptions, keyof SubmitOptions>): Promise<JobRequest>;
  /** @throws {MainspringError} INVALID_PAYLOAD before anything is sent, or what the server refuses */
  submit(client: Client, payload: Input, options?: TaskSubmitOptions): Promise<JobHandle<R>>;
}

/** Defines a task whose payload a schema checks. */
export function task<S extends StandardSchemaV1, R>(
  options: TaskOptions<S, StandardSchemaV1.InferOutput<S>, R> & { schema: S },
): Task<StandardSchemaV1.InferInput<S>, R>;
/** Defines a task that takes its payload as it comes. */
export function task<P, R>(options: TaskOptions<undefined, P, R>): Task<P, R>;
/**
 * Defines a task whose handler, `(payload, ctx) => result` as any other's, is exported by a module and runs apart: one that
 * ignores its cancellation or its timeout, or blocks, is killed when the grace time is over.
 */
export function task<S extends StandardSchemaV1, R>(
  options: IsolatedTaskOptions<S> & { schema: S },
): Task<StandardSchemaV1.InferInput<S>, R>;
export function task<P, R>(options: IsolatedTaskOptions<undefined>): Task<P, R>;
export function task<R>(options: AnyTaskOptions<R>): Task<never, R> {
  const { name, schema } = options;
  const given = "run" in options ? options.run : isolatedRun(options.isolate, systemRuntime(false));
  const run = given as (payload: unknown, ctx: TaskContext) => R | Promise<R>;
  const job = async (payload: unknown, jobOptions: TaskSubmitOptions = {}) => {
    // The client sends the payload as it was given, not the schema's output: the worker checks it again, and a
    // schema that transforms would not take its own output.
    if (schema !== undefined) await checked(name, schema, payload);
    return requestOf(options, payload, jobOptions);
  };
  return {
    name,
    invoke: schema === undefined ? run : (payload, ctx) => runChecked(name, schema, run, payload, ctx),
    job,
    async submit(client, payload, { idempotencyKey, signal, ...jobOptions } = {}) {
      const request = await job(payload, jobOptions);
      const submitOptions = { ...(idempotencyKey !== undefined && { idempotencyKey }), ...(signal && { signal }) };
      return new JobHandle<R>(client, await client.submit(request, submitOptions));
    },
  };
}

type AnyTaskOptions<R> =
  | TaskOptions<StandardSchemaV1 | undefined, never, R>
  | IsolatedTaskOptions<StandardSchemaV1 | undefined>;

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

async function checked(name: string, schema: StandardSchemaV1, payload: unknown): Promise<void> {
  try {
    await validate(name, schema, payload);
  } catch (cause) {
    if (!(cause instanceof InvalidPayload)) throw cause;
    throw new MainspringError("INVALID_PAYLOAD", cause.message, { errors: cause.errors, cause });
  }
}

function requestOf(
  options: CommonOptions<StandardSchemaV1 | undefined>,
  payload: unknown,
  { pool, requires, ...rest }: TaskSubmitOptions,
): JobRequest {
  return {
    target: { handler: options.name, ...(pool !== undefined && { pool }), ...(requires && { requires }) },
    ...(payload !== undefined && { payload }),
    ...(options.retry && { retryPolicy: options.retry }),
    ...rest,
  };
}
