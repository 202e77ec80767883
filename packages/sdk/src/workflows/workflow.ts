import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Client } from "../client/client.ts";
import type { ReadOptions } from "../client/requests.ts";
import { partedOptions, type SubmitOptions } from "../client/submit-options.ts";
import { WorkflowHandle } from "../client/workflow-handle.ts";
import { MainspringError } from "../errors.ts";
import type { Jsonify } from "../jsonify.ts";
import { validated } from "../schema.ts";
import type { Task } from "../task.ts";
import type { ScheduleTimes } from "../task-schedules.ts";
import { type Ref, type Reference, refOf } from "./ref.ts";
import { type ScheduledWorkflow, scheduleWorkflow } from "./scheduled-workflow.ts";
import { WorkflowBuilder } from "./workflow-builder.ts";
import type { WorkflowRequest } from "./workflow-requests.ts";

/** Options of the runs of a workflow. */
export type WorkflowOptions = Pick<WorkflowRequest, (typeof OPTIONS)[number]>;

const OPTIONS = [
  ...(["labels", "priority", "timeoutSec", "onFailure", "defaults"] as const),
  ...(["uniqueKey", "concurrencyKey", "concurrencyLimit"] as const),
] as const;

/** Options of one run. Labels are added to those of the workflow; other values replace them. */
export interface WorkflowSubmitOptions
  extends SubmitOptions,
    Omit<WorkflowOptions, "defaults">,
    Pick<WorkflowRequest, "name" | "runAt" | "delayMs" | "startBefore"> {}

/** Times of a workflow that recurs, with the input of its runs and options. */
export type WorkflowSchedule<Input> = ScheduleTimes &
  Omit<WorkflowOptions, "defaults"> & {
    /** Name of the recurring job; default: that of the workflow. */
    name?: string;
  } & (undefined extends Input ? { input?: Input } : { input: Input });

/** Type of the result of a run, by what the function of the workflow returns. */
export type OutputOf<O> =
  O extends Reference<infer R>
    ? R
    : unknown extends O
      ? O
      : O extends undefined | void
        ? null
        : O extends { toJSON(...args: never[]): unknown }
          ? Jsonify<O>
          : O extends object
            ? { -readonly [K in keyof O]: OutputOf<O[K]> }
            : Jsonify<O>;

type InputArgument<Input> = undefined extends Input ? [input?: Input] : [input: Input];

/** A workflow together with typed functions that start its runs. R is the type of their result. */
export interface DefinedWorkflow<Input = never, R = unknown> {
  readonly name: string;
  /** The workflow as JSON, for files and the command; without an input. */
  readonly definition: WorkflowRequest;
  /** Tasks of its nodes. */
  readonly tasks: readonly Task<never, unknown>[];
  /**
   * The request that `submit` sends.
   * @throws {MainspringError} INVALID_PAYLOAD
   */
  request(input: Input, options?: Omit<WorkflowSubmitOptions, keyof SubmitOptions>): Promise<WorkflowRequest>;
  /**
   * Submits a run.
   * @throws {MainspringError} INVALID_PAYLOAD before anything is sent, or the server's error
   */
  submit(
    client: Client,
    ...args: [...input: InputArgument<Input>, options?: WorkflowSubmitOptions]
  ): Promise<WorkflowHandle<R>>;
  /**
   * Submits the recurring job of this workflow, which starts a run at each planned instant. A program may do so at each of its
   * starts: a repeat changes nothing.
   * @param times a schedule or an interval, how it recurs, and the input of the runs
   * @throws {MainspringError} INVALID_PAYLOAD; CONFLICT: a recurring job of the name has another definition; or the server's error
   */
  schedule(client: Client, times: WorkflowSchedule<Input>, options?: ReadOptions): Promise<ScheduledWorkflow>;
}

/**
 * Defines a workflow whose input a schema checks. The input of a run is what the schema gives back.
 * @param build called once, at once: it adds the nodes, and returns the output, a value with references
 * @throws {MainspringError} BAD_OPTION or INVALID_PAYLOAD; names the node, and says what would be right
 */
export function workflow<S extends StandardSchemaV1, O>(
  name: string,
  options: WorkflowOptions & { input: S },
  build: (w: WorkflowBuilder, input: Ref<Jsonify<StandardSchemaV1.InferOutput<S>>>) => O,
): DefinedWorkflow<StandardSchemaV1.InferInput<S>, OutputOf<O>>;
/** Defines a workflow whose input is not checked. The function gives its type: `(w, input: Ref<{ day: string }>) => …`. */
export function workflow<Input, O>(
  name: string,
  options: WorkflowOptions,
  build: (w: WorkflowBuilder, input: Ref<Input>) => O,
): DefinedWorkflow<Input, OutputOf<O>>;
export function workflow(
  name: string,
  { input: schema, ...options }: WorkflowOptions & { input?: StandardSchemaV1 },
  build: (w: WorkflowBuilder, input: Ref<never>) => unknown,
): DefinedWorkflow<unknown, unknown> {
  checkOptions(name, options);
  const builder = new WorkflowBuilder(name, options.defaults);
  const output = build(builder, refOf({ owner: builder, from: "$input", path: [], isOptional: false }));
  const { tasks, ...built } = builder.build(output);
  const definition: WorkflowRequest = { name, ...options, ...built };
  const request: DefinedWorkflow<unknown>["request"] = async (input, { labels, ...own } = {}) => {
    const given = schema === undefined ? input : await validated(`workflow ${name}`, schema, input, "input");
    const named = labels === undefined ? {} : { labels: { ...definition.labels, ...labels } };
    return { ...definition, ...defined(own), ...named, ...(given !== undefined && { input: given }) };
  };
  return {
    name,
    definition,
    tasks,
    request,
    async submit(client, ...[input, options = {}]) {
      const { ofSubmit, others } = partedOptions(options);
      const workflow = await request(input, others);
      return new WorkflowHandle(client, await client.workflows.submit(workflow, ofSubmit));
    },
    async schedule(client, { input, ...times }, options) {
      const workflow = await request(input, times);
      return await scheduleWorkflow(client, workflow as Parameters<typeof scheduleWorkflow>[1], options);
    },
  };
}

/** @throws {MainspringError} BAD_OPTION */
function checkOptions(name: string, options: WorkflowOptions): void {
  const refuse = (message: string): never => {
    throw new MainspringError("BAD_OPTION", `workflow ${JSON.stringify(name)}: ${message}`);
  };
  if (typeof name !== "string" || name === "") refuse("its name must be a text of 1 to 255 characters");
  const unknown = Object.keys(options).find((option) => !(OPTIONS as readonly string[]).includes(option));
  if (unknown !== undefined) refuse(`there is no option ${unknown}; options are input, ${OPTIONS.join(", ")}`);
}

function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
