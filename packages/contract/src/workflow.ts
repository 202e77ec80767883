import { type Static, Type } from "typebox";
import { EXECUTION_STATES, NODE_STATES } from "./enums.ts";
import { ErrorBody, ExecutionState, RunMode, summaryFields } from "./execution.ts";
import { WaitReason } from "./explanation.ts";
import {
  AnyJson,
  Count,
  described,
  Instant,
  InstantOrNull,
  named,
  oneOf,
  orNull,
  StringOrNull,
  Uuid,
} from "./fields.ts";
import { pageOf } from "./listing.ts";
import { CompensationPolicy, OnFailure, WorkflowJoin } from "./workflow-submission.ts";

export const WorkflowNodeState = oneOf(
  NODE_STATES,
  "BLOCKED: the node waits for other nodes. SKIPPED: its dependencies or the end of the run keep it from running. The others are states of its execution",
  "WorkflowNodeState",
);
const ParentNode = named("ParentNode", {
  workflowId: Uuid("the run of the node"),
  node: Type.String({ description: "name of the node" }),
  item: orNull(Count("index of the item"), "null: the node is no map"),
});

const childWorkflowId = orNull(
  Uuid("a run"),
  "the run of its sub-workflow, which is its execution; null: it runs none, has none so far, or is a map, whose items have runs",
);

const runFields = {
  workflowId: Uuid("the run; also the id of its execution"),
  jobId: Uuid("the job of the workflow; of a sub-workflow: the run of its node"),
  tenant: Type.String(),
  name: StringOrNull("as submitted"),
  labels: Type.Record(Type.String(), Type.String()),
  priority: Type.Integer({ minimum: 0, maximum: 9 }),
  state: ExecutionState,
  reason: StringOrNull("why it is in its state, where the state does not say it"),
  mode: orNull(RunMode, "null: the run is final, or has not started"),
  paused: Type.Boolean({ description: "true: no node starts until the run is resumed" }),
  nodes: Count("number of nodes; lists leave out the nodes that handlers have added"),
  createdAt: Instant("when the server took it"),
  scheduledAt: Instant("when it was to start"),
  startedAt: InstantOrNull("when it started"),
  finishedAt: InstantOrNull("when it became final"),
  deadline: InstantOrNull("time by which it must be final; null: it has not started"),
  retryOf: orNull(Uuid("a run"), "the run that this one retries; null: it is no retry"),
  parent: orNull(ParentNode, "node whose sub-workflow the run is; null: the workflow was submitted"),
};

/** A run of a workflow as lists show it. */
export const WorkflowSummary = named("WorkflowSummary", runFields);
export type WorkflowSummary = Static<typeof WorkflowSummary>;
export const WorkflowPage = pageOf("WorkflowPage", WorkflowSummary);

export const FailedNode = named("FailedNode", {
  name: Type.String(),
  executionId: orNull(
    Uuid("an execution"),
    "the execution of the node; null: the node is a map, whose items have executions",
  ),
  attempt: Count("the last attempt; 0: the node is a map"),
  reason: StringOrNull("why it is DEAD, where the error does not say it"),
  error: orNull(ErrorBody, "what its last attempt failed with, or what is wrong with the map"),
  finishedAt: InstantOrNull("when it became DEAD; null: not known, or the node is a map"),
});
export type FailedNode = Static<typeof FailedNode>;

export const Workflow = named("Workflow", {
  ...runFields,
  onFailure: OnFailure,
  compensate: described(
    CompensationPolicy,
    "ends after which the run is compensated; NEVER: no node declares a compensation",
  ),
  input: AnyJson("as submitted; of a sub-workflow: the payload of its node, with its references; null: none"),
  result: AnyJson("the output with its references replaced; null: none, or the run has not SUCCEEDED"),
  error: orNull(ErrorBody, "why the run is DEAD"),
  counts: named(
    "NodeCounts",
    Object.fromEntries(
      NODE_STATES.map((state) => [state, Count("number of nodes in this state, also of added ones")]),
    ) as Record<(typeof NODE_STATES)[number], ReturnType<typeof Count>>,
  ),
  failed: Type.Array(FailedNode, { description: "the first 20 DEAD nodes, in the order of the definition" }),
  failedCompensations: Type.Array(FailedNode, {
    description: "the first 20 nodes whose compensations are DEAD, in the order of the definition",
  }),
  retriedBy: Type.Array(Uuid("a run"), { description: "retries of this run, the newest first; at most 20" }),
});
export type Workflow = Static<typeof Workflow>;

const KeptFrom = named("KeptFrom", {
  workflowId: Uuid("an earlier run"),
  executionId: orNull(
    Uuid("the execution of the node in that run, which has the result"),
    "null: the node is a map, whose items have executions",
  ),
});

const keptFrom = orNull(
  KeptFrom,
  "execution of an earlier run that counts for this retry; null: the run does not keep the node from another run",
);

const Blocked = named("OpenParents", {
  open: Count("nodes for which the node waits"),
  first: Type.Array(Type.String(), { description: "names of the first 20 of them" }),
});

const SkippedBecause = named("SkippedBecause", {
  kind: oneOf(
    ["DEPENDENCIES", "WORKFLOW_FAILED", "WORKFLOW_CANCELLED"],
    "DEPENDENCIES: those in `dependencies` can no longer be met. The others: the end of the run came first",
  ),
  dependencies: Type.Array(
    named("UnmetDependency", { node: Type.String(), when: Type.String(), state: WorkflowNodeState }),
    { description: "the first 20 dependencies that can no longer be met, with the states of the nodes" },
  ),
});

const NodeCompensation = named("NodeCompensation", {
  state: described(
    WorkflowNodeState,
    "BLOCKED: it waits for other compensations. SUCCEEDED: the node is undone. SKIPPED: it does not run, because one for which it waits has failed",
  ),
  executionId: orNull(Uuid("an execution"), "null: it has none so far, or will never have one"),
  handler: Type.String(),
  pool: Type.String(),
  reason: StringOrNull("why its execution is in its state, where the state does not say it"),
  attempt: Count("the current or last attempt; 0: none yet"),
  error: orNull(ErrorBody, "what the last attempt failed with"),
  assignedWorker: summaryFields.assignedWorker,
  startedAt: InstantOrNull("first start of any attempt"),
  finishedAt: InstantOrNull("when it became final"),
  after: orNull(
    named("OpenCompensations", {
      open: Count("nodes after this one whose compensations must SUCCEED first"),
      first: Type.Array(Type.String(), { description: "names of the first 20 of them" }),
    }),
    "null: it is neither BLOCKED nor SKIPPED",
  ),
});

const ItemCounts = named("ItemCounts", {
  total: orNull(Count("number of items"), "null: the items are not counted yet, or cannot be"),
  kept: Count("SUCCEEDED items that this retry keeps from earlier runs"),
  ...(Object.fromEntries(
    EXECUTION_STATES.map((state) => [state, Count("number of items whose executions are in this state")]),
  ) as Record<(typeof EXECUTION_STATES)[number], ReturnType<typeof Count>>),
});

export const WorkflowNode = named("WorkflowNode", {
  name: Type.String({
    description: "of a node that a handler has added: the name of its own node, `/` and the name that it gave",
  }),
  state: WorkflowNodeState,
  executionId: orNull(Uuid("an execution"), "null: the node has none so far, or will never have one"),
  keptFrom,
  handler: Type.String(),
  pool: Type.String(),
  reason: StringOrNull("why its execution is in its state, where the state does not say it"),
  attempt: Count("the current or last attempt; 0: none yet"),
  branch: StringOrNull("branch that its handler chose"),
  error: orNull(ErrorBody, "what the last attempt failed with"),
  assignedWorker: summaryFields.assignedWorker,
  createdAt: InstantOrNull("when its execution was created"),
  startedAt: InstantOrNull("first start of any attempt"),
  finishedAt: InstantOrNull("when it became final"),
  blockedBy: orNull(Blocked, "null: the node is not BLOCKED"),
  because: orNull(SkippedBecause, "why the node is SKIPPED without an execution; null: it is not"),
  compensation: orNull(NodeCompensation, "null: the run does not compensate the node, or not yet"),
  items: orNull(ItemCounts, "items of a map; null: the node is no map"),
  childWorkflowId,
});
export type WorkflowNode = Static<typeof WorkflowNode>;
export const WorkflowNodePage = pageOf("WorkflowNodePage", WorkflowNode);

export const WorkflowItem = named("WorkflowItem", {
  item: Count("index in the array, from 0"),
  executionId: Uuid("an execution"),
  state: ExecutionState,
  reason: StringOrNull("why it is in its state, where the state does not say it"),
  attempt: Count("the current or last attempt; 0: none yet"),
  error: orNull(ErrorBody, "what the last attempt failed with"),
  assignedWorker: summaryFields.assignedWorker,
  createdAt: Instant("when it was created"),
  startedAt: InstantOrNull("first start of any attempt"),
  finishedAt: InstantOrNull("when it became final"),
  childWorkflowId: orNull(Uuid("a run"), "the run of its sub-workflow, which is its execution; null: it runs none"),
});
export type WorkflowItem = Static<typeof WorkflowItem>;
export const WorkflowItemPage = pageOf("WorkflowItemPage", WorkflowItem);

export const CancelledWorkflow = named("CancelledWorkflow", {
  workflowId: Uuid("the run"),
  state: ExecutionState,
  cancelRequested: Type.Boolean({ description: "true: it ends as soon as workers have stopped its nodes" }),
});
export type CancelledWorkflow = Static<typeof CancelledWorkflow>;

export const OrderedWorkflow = named("OrderedWorkflow", {
  workflowId: Uuid("the run"),
  state: ExecutionState,
  mode: orNull(RunMode, "null: the run is final"),
  paused: Type.Boolean({ description: "whether the run is paused now" }),
});
export type OrderedWorkflow = Static<typeof OrderedWorkflow>;

export const NodeExplanation = named("NodeExplanation", {
  workflowId: Uuid("the run"),
  node: Type.String({ description: "name of the node" }),
  state: WorkflowNodeState,
  executionId: orNull(Uuid("an execution"), "null: the node has none"),
  keptFrom,
  reasons: Type.Array(WaitReason, { description: "every reason that holds now" }),
  compensation: orNull(
    named("CompensationExplanation", {
      state: WorkflowNodeState,
      executionId: orNull(Uuid("an execution"), "null: it has none"),
      reasons: Type.Array(WaitReason, { description: "every reason that holds now" }),
    }),
    "null: the run does not compensate the node, or not yet",
  ),
});
export type NodeExplanation = Static<typeof NodeExplanation>;

export const WorkflowGraphBody = named("WorkflowGraph", {
  workflowId: Uuid("the run"),
  onFailure: OnFailure,
  nodes: Type.Array(
    named("GraphNode", {
      name: Type.String({ description: "as `name` of WorkflowNode" }),
      handler: Type.String(),
      pool: Type.String(),
      state: WorkflowNodeState,
      compensatedBy: StringOrNull("handler that undoes the node; null: the node declares none"),
      compensation: orNull(
        WorkflowNodeState,
        "state of its compensation; null: the run does not compensate it, or not yet",
      ),
      keptFrom,
      join: WorkflowJoin,
      allowFailure: Type.Boolean(),
      dependsOn: Type.Array(named("GraphEdge", { node: Type.String(), when: Type.String() })),
      addedBy: StringOrNull(
        "node whose handler has added this one, and after which it runs; null: the definition has it",
      ),
      detached: Type.Boolean({
        description: "true: the nodes that depend on the node that has added this one do not wait for it",
      }),
    }),
  ),
});
export type WorkflowGraphBody = Static<typeof WorkflowGraphBody>;
