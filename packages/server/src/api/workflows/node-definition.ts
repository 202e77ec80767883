import type { HandlerPolicies, JobSubmission, WorkflowEnvelope, WorkflowNodeSubmission } from "@mainspring/contract";
import {
  DEFAULT_RUN_TIMEOUT_MS,
  SUB_WORKFLOW_HANDLER,
  WORKFLOW_HANDLER,
  WORKFLOW_LIVE_MAX,
} from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import { DEFAULT_POOL, type JobDefinition } from "../../domain/job.ts";
import type { Condition, Dependency, NodeMap, NodeWork, WorkflowNode } from "../../domain/workflow/definition.ts";
import type { NameSpace } from "../handlers/fill-in.ts";
import type { PolicyBook } from "../handlers/kept-policies.ts";
import { isConstant, type KeyTemplate, parseKey } from "../handlers/key-template.ts";
import type { FieldError } from "../http/errors.ts";
import { contradictions, jobDefinition } from "../submit/job-definition.ts";

type Defaults = NonNullable<WorkflowEnvelope["defaults"]>;

/** Pools and policies as the tenant of a workflow sees them. */
export interface NodeSpace extends NameSpace {
  book: PolicyBook;
}

/**
 * Node with every default filled in: its own values come first, then the workflow's defaults, then the policies that the
 * task of its handler declares; a retry policy is one value.
 * @returns faults of the node that its schema cannot express
 */
export function nodeDefinition(
  node: WorkflowNodeSubmission,
  defaults: Defaults,
  space: NodeSpace,
  createdAt: EpochMs,
): WorkflowNode | FieldError[] {
  const { name, payload: _payload, dependsOn = [], join = "ALL", allowFailure = false, compensate, ...rest } = node;
  const { map, maxRunning, tolerate, target, workflow, ...work } = rest;
  const faults = map === undefined ? withoutMap({ maxRunning, tolerate }) : withMap(compensate);
  if ((target === undefined) === (workflow === undefined)) return [targetFault(target !== undefined), ...faults];
  const own =
    target === undefined
      ? subWorkflowWork(work, workflow?.defaults?.pool, defaults, space, createdAt)
      : nodeWork({ ...work, target }, defaults, space, createdAt);
  if (Array.isArray(own)) return [...own, ...faults];
  if (faults.length > 0) return faults;
  const definition = {
    ...{ name, ...own, dependsOn: dependsOn.map(edge), join, allowFailure },
    ...(map !== undefined && { map: mapOf(map, maxRunning, tolerate?.failures) }),
  };
  if (compensate === undefined) return definition;
  const { payload: _, ...undoing } = compensate;
  const undo = nodeWork(undoing, defaults, space, createdAt);
  if (Array.isArray(undo)) return undo.map(({ field, message }) => ({ field: `compensate.${field}`, message }));
  return { ...definition, compensate: undo };
}

function targetFault(hasBoth: boolean): FieldError {
  const message = hasBoth
    ? "cannot stand beside `workflow`: a node has one of them"
    : "is missing: a node has `target` or `workflow`";
  return { field: "target", message };
}

type GivenPolicies = Omit<GivenWork, "target">;

/**
 * Work of a node that runs a sub-workflow, whose `timeoutSec` bounds the whole run.
 * @param pool pool of the sub-workflow's defaults
 */
function subWorkflowWork(
  {
    priority,
    timeoutSec = DEFAULT_RUN_TIMEOUT_MS / 1_000,
    concurrencyKey,
    concurrencyLimit,
    ...ofAttempts
  }: GivenPolicies,
  pool: string | undefined,
  defaults: Defaults,
  { tenant, poolOf }: NodeSpace,
  createdAt: EpochMs,
): NodeWork | FieldError[] {
  const faults = Object.keys(ofAttempts).map((field) => ({
    field,
    message: "is for a node with `target`: the nodes of a sub-workflow have policies of their own",
  }));
  const wanted = priority ?? defaults.priority;
  const job: JobSubmission = {
    target: { handler: WORKFLOW_HANDLER, pool: poolOf(tenant, pool ?? defaults.pool ?? DEFAULT_POOL) },
    timeoutSec,
    ...(wanted !== undefined && { priority: wanted }),
    ...(concurrencyKey !== undefined && { concurrencyKey }),
    ...(concurrencyLimit !== undefined && { concurrencyLimit }),
  };
  faults.push(...contradictions(job, 0));
  if (faults.length > 0) return faults;
  return { ...workOf(jobDefinition(job, createdAt)), handler: SUB_WORKFLOW_HANDLER };
}

function workOf({
  pool,
  handler,
  requires,
  priority,
  policy,
  concurrencyKey,
  concurrencyLimit,
}: JobDefinition): NodeWork {
  const key = concurrencyKey !== null && { concurrencyKey, ...(concurrencyLimit > 1 && { concurrencyLimit }) };
  return { pool, handler, requires, priority, policy, ...key };
}

type GivenWork = Omit<NonNullable<WorkflowNodeSubmission["compensate"]>, "payload">;

/** Work of a node or of its compensation. @returns faults that the schema cannot express */
function nodeWork(
  { target, ...policies }: GivenWork,
  { pool: defaultPool, ...common }: Defaults,
  { tenant, poolOf, book }: NodeSpace,
  createdAt: EpochMs,
): NodeWork | FieldError[] {
  const named = target.pool ?? defaultPool;
  const home = named === undefined ? book.homeOf(tenant, target.handler) : null;
  const pool = home ?? poolOf(tenant, named ?? DEFAULT_POOL);
  const { uniqueKey: _key, ...kept } = book.of(pool, target.handler) ?? {};
  const declared = keyOfTask(kept, policies.concurrencyKey);
  if (declared === null) return [keyFault(target.handler, kept.concurrencyKey ?? "")];
  const job: JobSubmission = { ...declared, ...common, ...policies, target: { ...target, pool } };
  const faults = contradictions(job, 0);
  if (faults.length > 0) return faults;
  return workOf(jobDefinition(job, createdAt));
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
 * @param keys keys of the workflow, and of the workflows around it
 */
export function sharedKeyFaults({ concurrencyKey, compensate }: WorkflowNode, keys: readonly string[]): FieldError[] {
  return keys.flatMap((key) => [
    ...(concurrencyKey === key ? [sharedKeyFault("concurrencyKey", key)] : []),
    ...(compensate?.concurrencyKey === key ? [sharedKeyFault("compensate.concurrencyKey", key)] : []),
  ]);
}

function sharedKeyFault(field: string, key: string): FieldError {
  const message =
    `is the key ${JSON.stringify(key)} of the workflow, whose run holds it until the node has ended: ` +
    "give the node another key, or the workflow none";
  return { field, message };
}
