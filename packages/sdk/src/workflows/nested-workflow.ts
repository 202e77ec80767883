import type { Task } from "../task.ts";
import type { NodePolicies, WorkflowNodeRequest, WorkflowRequest } from "./workflow-requests.ts";

/** Workflow that `workflow` defines, as far as a node that runs it needs it. */
export interface NestedWorkflow<Input = never, R = unknown> {
  readonly name: string;
  readonly definition: WorkflowRequest;
  readonly tasks: readonly Task<never, unknown>[];
  /** Only for the types. */
  request(input: Input, ...rest: never[]): Promise<WorkflowRequest>;
  submit(...args: never[]): Promise<{ result(...args: never[]): Promise<R> }>;
}

/** Options of a node that runs a workflow. */
export const NESTED_OPTIONS = [
  ...(["after", "join", "allowFailure", "timeoutSec", "priority"] as const),
  ...(["concurrencyKey", "concurrencyLimit"] as const),
] as const;

export type NodeWork = Task<never, unknown> | NestedWorkflow<never, unknown>;

export function isNested(work: NodeWork): work is NestedWorkflow<never, unknown> {
  return "definition" in work && "tasks" in work;
}

/** Tasks of the workers that the work needs. */
export function tasksOf(work: NodeWork): readonly Task<never, unknown>[] {
  return isNested(work) ? work.tasks : [work];
}

/** The workflow as a part of the node that runs it. */
export function nestedPart({ definition }: NestedWorkflow<never, unknown>): Pick<WorkflowNodeRequest, "workflow"> {
  const { nodes, onFailure, compensate, output, defaults } = definition;
  return {
    workflow: {
      nodes,
      ...(onFailure !== undefined && { onFailure }),
      ...(compensate !== undefined && { compensate }),
      ...(output !== undefined && { output }),
      ...(defaults !== undefined && { defaults }),
    },
  };
}

/** Options of the workflow that its node has. Options that are given for the node come first. */
export function nestedPolicies(
  { definition }: NestedWorkflow<never, unknown>,
  options: Pick<NodePolicies, "priority" | "timeoutSec">,
): Partial<WorkflowNodeRequest> {
  const { concurrencyKey, concurrencyLimit } = definition;
  const priority = options.priority ?? definition.priority;
  const timeoutSec = options.timeoutSec ?? definition.timeoutSec;
  return {
    ...(priority !== undefined && { priority }),
    ...(timeoutSec !== undefined && { timeoutSec }),
    ...(concurrencyKey !== undefined && { concurrencyKey }),
    ...(concurrencyLimit !== undefined && { concurrencyLimit }),
  };
}

/** Reason why no node can run the workflow with these options; null: one can. */
export function nestedFault({ name, definition }: NestedWorkflow<never, unknown>, options: object): string | null {
  const option = Object.keys(options).find((given) => !(NESTED_OPTIONS as readonly string[]).includes(given));
  if (option !== undefined)
    return `a workflow has no option ${option} here; the options of its node are ${NESTED_OPTIONS.join(", ")}`;
  const whose = `the workflow ${JSON.stringify(name)}`;
  return definition.uniqueKey === undefined ? null : `${whose} has a uniqueKey, which a node cannot have`;
}
