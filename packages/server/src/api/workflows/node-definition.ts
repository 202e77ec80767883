import type { HandlerPolicies, JobSubmission, WorkflowEnvelope, WorkflowNodeSubmission } from "@mainspring/contract";
import { WORKFLOW_LIVE_MAX } from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import { DEFAULT_POOL } from "../../domain/job.ts";
import type { Condition, Dependency, NodeMap, NodeWork, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { PolicyBook } from "../handlers/kept-policies.ts";
import type { FieldError } from "../http/errors.ts";
import { contradictions, jobDefinition } from "../submit/job-definition.ts";

type Defaults = NonNullable<WorkflowEnvelope["defaults"]>;

/**
 * Node with every default filled in: its own values come first, then the workflow's defaults, then the policies that the
 * task of its handler declares; a retry policy is one value.
 * @returns faults of the node that its schema cannot express
 */
export function nodeDefinition(
  node: WorkflowNodeSubmission,
  defaults: Defaults,
  book: PolicyBook,
  createdAt: EpochMs,
): WorkflowNode | FieldError[] {
  const { name, payload: _payload, dependsOn = [], join = "ALL", allowFailure = false, compensate, ...rest } = node;
  const { map, maxRunning, tolerate, ...work } = rest;
  const faults = map === undefined ? withoutMap({ maxRunning, tolerate }) : withMap(compensate);
  const own = nodeWork(work, defaults, book, createdAt);
  if (Array.isArray(own)) return [...own, ...faults];
  if (faults.length > 0) return faults;
  const definition = {
    ...{ name, ...own, dependsOn: dependsOn.map(edge), join, allowFailure },
    ...(map !== undefined && { map: mapOf(map, maxRunning, tolerate?.failures) }),
  };
  if (compensate === undefined) return definition;
  const { payload: _, ...undoing } = compensate;
  const undo = nodeWork(undoing, defaults, book, createdAt);
  if (!Array.isArray(undo)) return { ...definition, compensate: undo };
  return undo.map(({ field, message }) => ({ field: `compensate.${field}`, message }));
}

/** Work of a node or of its compensation. @returns faults that the schema cannot express */
function nodeWork(
  { target, ...policies }: Omit<NonNullable<WorkflowNodeSubmission["compensate"]>, "payload">,
  { pool: defaultPool, ...common }: Defaults,
  book: PolicyBook,
  createdAt: EpochMs,
): NodeWork | FieldError[] {
  const pool = target.pool ?? defaultPool ?? book.homeOf(target.handler) ?? DEFAULT_POOL;
  const {
    concurrencyKey,
    concurrencyLimit: _limit,
    uniqueKey: _key,
    ...declared
  } = book.of(pool, target.handler) ?? {};
  if (concurrencyKey !== undefined) return [keyFault(target.handler, concurrencyKey)];
  const job: JobSubmission = { ...declared, ...common, ...policies, target: { ...target, pool } };
  const faults = contradictions(job, 0);
  if (faults.length > 0) return faults;
  const { handler, requires, priority, policy } = jobDefinition(job, createdAt);
  return { pool, handler, requires, priority, policy };
}

function edge(dependency: NonNullable<WorkflowNodeSubmission["dependsOn"]>[number]): Dependency {
  if (typeof dependency === "string") return { node: dependency, when: "SUCCEEDED" };
  return { node: dependency.node, when: (dependency.when ?? "SUCCEEDED") as Condition };
}

type Map = NonNullable<WorkflowNodeSubmission["map"]>;

function mapOf(map: Map, maxRunning = WORKFLOW_LIVE_MAX, tolerated = 0): NodeMap {
  const { $from: from, path = [] } = map === "$input" ? { $from: map } : map;
  return { from, path, maxRunning, tolerate: tolerated };
}

function withoutMap(given: object): FieldError[] {
  return Object.entries(given).flatMap(([field, value]) =>
    value === undefined ? [] : [{ field, message: "is for a node with map, and the node has none" }],
  );
}

/** The compensation of a map would have to undo each item for itself. */
function withMap(compensate: WorkflowNodeSubmission["compensate"]): FieldError[] {
  const message = "a map cannot have `compensate`: compensate in a node after it";
  return compensate === undefined ? [] : [{ field: "compensate", message }];
}

/** A node without the key would exceed the limit that the task declares. */
function keyFault(handler: string, key: NonNullable<HandlerPolicies["concurrencyKey"]>): FieldError {
  const message =
    `cannot be a node: its task ${JSON.stringify(handler)} declares the concurrencyKey ${JSON.stringify(key)}, and nodes have ` +
    "no concurrency keys. Submit it as a job, or limit its pool";
  return { field: "target.handler", message };
}
