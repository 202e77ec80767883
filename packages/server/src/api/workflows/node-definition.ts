import type { HandlerPolicies, JobSubmission, WorkflowEnvelope, WorkflowNodeSubmission } from "@mainspring/contract";
import { WORKFLOW_LIVE_MAX } from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import { DEFAULT_POOL } from "../../domain/job.ts";
import type { Condition, Dependency, NodeMap, NodeWork, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { PolicyBook } from "../handlers/kept-policies.ts";
import { isConstant, type KeyTemplate, parseKey } from "../handlers/key-template.ts";
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
  if (Array.isArray(undo)) return undo.map(({ field, message }) => ({ field: `compensate.${field}`, message }));
  return { ...definition, compensate: undo };
}

/** Work of a node or of its compensation. @returns faults that the schema cannot express */
function nodeWork(
  { target, ...policies }: Omit<NonNullable<WorkflowNodeSubmission["compensate"]>, "payload">,
  { pool: defaultPool, ...common }: Defaults,
  book: PolicyBook,
  createdAt: EpochMs,
): NodeWork | FieldError[] {
  const pool = target.pool ?? defaultPool ?? book.homeOf(target.handler) ?? DEFAULT_POOL;
  const { uniqueKey: _key, ...kept } = book.of(pool, target.handler) ?? {};
  const declared = keyOfTask(kept, policies.concurrencyKey);
  if (declared === null) return [keyFault(target.handler, kept.concurrencyKey ?? "")];
  const job: JobSubmission = { ...declared, ...common, ...policies, target: { ...target, pool } };
  const faults = contradictions(job, 0);
  if (faults.length > 0) return faults;
  const { handler, requires, priority, policy, concurrencyKey, concurrencyLimit } = jobDefinition(job, createdAt);
  const key = concurrencyKey !== null && { concurrencyKey, ...(concurrencyLimit > 1 && { concurrencyLimit }) };
  return { pool, handler, requires, priority, policy, ...key };
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

/**
 * Policies of a task without a key that a node of the workflow cannot have, or has itself.
 * @param own key of the node; undefined: it has none
 * @returns null: the key depends on the payload, which may not be known before the node runs
 */
function keyOfTask(policies: HandlerPolicies, own: string | undefined): HandlerPolicies | null {
  const { concurrencyKey, concurrencyLimit, ...plain } = policies;
  const limit = concurrencyLimit !== undefined && { concurrencyLimit };
  if (own !== undefined) return { ...plain, ...limit };
  if (concurrencyKey === undefined) return plain;
  // Templates were checked when they were declared.
  return isConstant(parseKey(concurrencyKey) as KeyTemplate) ? { ...plain, ...limit, concurrencyKey } : null;
}

/** A node without the key would exceed the limit that the task declares. */
function keyFault(handler: string, key: string): FieldError {
  const message =
    `is missing: the task ${JSON.stringify(handler)} declares ${JSON.stringify(key)}, which is filled in from payloads of jobs alone; ` +
    "give concurrencyKey in the node";
  return { field: "concurrencyKey", message };
}

/**
 * Faults of a node or compensation that has the key of its workflow. The run holds a place of its key until its last node has
 * ended.
 * @param key key of the workflow; undefined: it has none
 */
export function sharedKeyFaults({ concurrencyKey, compensate }: WorkflowNode, key: string | undefined): FieldError[] {
  if (key === undefined) return [];
  return [
    ...(concurrencyKey === key ? [sharedKeyFault("concurrencyKey", key)] : []),
    ...(compensate?.concurrencyKey === key ? [sharedKeyFault("compensate.concurrencyKey", key)] : []),
  ];
}

function sharedKeyFault(field: string, key: string): FieldError {
  const message =
    `is the key ${JSON.stringify(key)} of the workflow, whose run holds it until the node has ended: ` +
    "give the node another key, or the workflow none";
  return { field, message };
}
