import { type Static, Type } from "typebox";
import { COMPENSATION_POLICIES } from "./enums.ts";
import { AnyJson, described, InstantOrNull, Labels, Line, named, oneOf, Uuid, Word } from "./fields.ts";
import { JobSubmission } from "./job.ts";
import {
  DEFAULT_POOL,
  MAP_ITEMS_MAX,
  NODE_NAME_CHARS_MAX,
  NODE_NAME_PATTERN,
  REFERENCE_NAME_CHARS_MAX,
  REFERENCE_PATH_MAX,
  SPAWN_EDGES_MAX,
  WORKFLOW_EDGES_MAX,
  WORKFLOW_LIVE_MAX,
  WORKFLOW_NODES_MAX,
} from "./limits.ts";
import { RecurrenceFields } from "./recurrence.ts";
import { Warnings } from "./schedule.ts";

const closed = { additionalProperties: false } as const;
const { retryPolicy, timeoutSec, cancelGraceSec, maxLost, onWorkerLost, priority } = JobSubmission.properties;

/** Policies of a node's execution; they mean the same as for a job. */
const policies = { retryPolicy, timeoutSec, cancelGraceSec, maxLost, onWorkerLost, priority };

/** Concurrency key of a node or compensation. */
const key = {
  concurrencyKey: Type.Optional(
    Line("executions of one key, of jobs and of nodes of any runs, run at most concurrencyLimit at once; up to 255"),
  ),
  concurrencyLimit: JobSubmission.properties.concurrencyLimit,
};

const NodeName = (description: string) => Type.String({ pattern: NODE_NAME_PATTERN, description });

const When = Type.String({
  pattern: `^(SUCCEEDED|FAILED|FINISHED|BRANCH:[A-Za-z0-9_.-]{1,${NODE_NAME_CHARS_MAX}})$`,
  description:
    "end of the parent that lets the node run: SUCCEEDED (the default), FAILED (the parent is DEAD), FINISHED (any end: SUCCEEDED, " +
    "DEAD, CANCELLED or SKIPPED), or BRANCH:x (the parent SUCCEEDED and its handler chose the branch x)",
});

export const WorkflowDependency = Type.Union(
  [
    NodeName("name of a node that must have SUCCEEDED"),
    named("ConditionalDependency", { node: NodeName("name of another node"), when: Type.Optional(When) }, closed),
  ],
  { title: "WorkflowDependency" },
);

export const WorkflowJoin = oneOf(
  ["ALL", "ANY"],
  "ALL: the node runs when all of its dependencies are met. ANY: when one is met; the others do not matter",
  "WorkflowJoin",
);
const failureEffect =
  "effect of a DEAD node without allowFailure. FAIL_FAST: only nodes that may handle the failure still start. CONTINUE: every node runs whose own dependencies allow it";
export const OnFailure = oneOf(["FAIL_FAST", "CONTINUE"], failureEffect, "OnFailure");

const MapSource = Type.Union(
  [
    Type.Literal("$input", { description: "the input of the run, which is an array" }),
    named(
      "MapSource",
      {
        $from: Type.String({
          pattern: `^(\\$input|[A-Za-z0-9_.-]{1,${NODE_NAME_CHARS_MAX}})$`,
          description: 'name of an earlier node, or "$input"',
        }),
        path: Type.Optional(
          Type.Array(Type.Union([Type.String({ maxLength: REFERENCE_NAME_CHARS_MAX }), Type.Integer({ minimum: 0 })]), {
            maxItems: REFERENCE_PATH_MAX,
            description: "names and indexes that lead to the array; left out: the result is the array",
          }),
        ),
      },
      closed,
    ),
  ],
  {
    title: "WorkflowMap",
    description:
      'array of up to 100,000 items; the node runs once for each. In its payload {"$item": true, "path": […]} stands for the item, or for ' +
      'the part at `path`, and {"$index": true} for its index',
  },
);

const Tolerate = named(
  "WorkflowTolerate",
  {
    failures: Type.Integer({
      minimum: 0,
      maximum: MAP_ITEMS_MAX,
      description: "number of DEAD items with which the map still succeeds; default 0",
    }),
  },
  closed,
);

const target = named(
  "WorkflowTarget",
  {
    handler: JobSubmission.properties.target.properties.handler,
    pool: Type.Optional(
      Word(`the queue and its workers; default that of the workflow's \`defaults\`, else "${DEFAULT_POOL}"`),
    ),
    requires: JobSubmission.properties.target.properties.requires,
  },
  closed,
);

const compensationEffect =
  "end of a run after which its SUCCEEDED nodes are compensated, in reverse. ON_FAILURE: DEAD. ON_FAILURE_OR_CANCEL: DEAD or CANCELLED. NEVER: none";
export const CompensationPolicy = oneOf(COMPENSATION_POLICIES, compensationEffect, "CompensationPolicy");

const WorkflowCompensation = named(
  "WorkflowCompensation",
  {
    target,
    payload: Type.Optional(
      AnyJson(
        'any JSON with references to the node itself, to nodes before it and to "$input"; default: an object with `payload`, as the node got it, ' +
          "`result`, the result of the node, and `input`, the input of the workflow",
      ),
    ),
    ...policies,
    ...key,
  },
  { ...closed, description: "work that undoes the node if it SUCCEEDED and the run fails afterwards" },
);

/** Parts of a workflow that a sub-workflow has, too. */
const graphFields = {
  onFailure: Type.Optional(described(OnFailure, `default FAIL_FAST; ${failureEffect}`)),
  compensate: Type.Optional(described(CompensationPolicy, `default ON_FAILURE; ${compensationEffect}`)),
  output: Type.Optional(
    AnyJson(
      "any JSON with references, up to 64 KiB; with the references replaced, it is the result of a run that SUCCEEDED",
    ),
  ),
  defaults: Type.Optional(
    named(
      "WorkflowDefaults",
      { pool: Type.Optional(Word(`the queue and its workers; default "${DEFAULT_POOL}"`)), ...policies },
      { ...closed, description: "values for nodes that leave them out; the priority of the workflow is one of them" },
    ),
  ),
};

export const SubWorkflowSubmission = named(
  "SubWorkflowSubmission",
  {
    nodes: Type.Array(Type.Unknown(), {
      minItems: 1,
      maxItems: WORKFLOW_NODES_MAX,
      description: "nodes, each as a `WorkflowNodeSubmission`; 10,000 with those of all workflows around and in it",
    }),
    ...graphFields,
  },
  {
    ...closed,
    description:
      "a whole workflow that the node runs, up to 5 levels deep: the payload of the node is its input, and its output is the result of " +
      "the node. `defaults` that it leaves out are those of the workflow around it",
  },
);
export type SubWorkflowSubmission = Static<typeof SubWorkflowSubmission>;

export const WorkflowNodeSubmission = named(
  "WorkflowNodeSubmission",
  {
    name: NodeName("unique in the workflow: 1 to 64 characters of A-Z a-z 0-9 _ . -"),
    target: Type.Optional(described(target, "the handler of the node; a node has this or `workflow`")),
    workflow: Type.Optional(SubWorkflowSubmission),
    payload: Type.Optional(
      AnyJson(
        'any JSON, up to 1 MiB. In it {"$from": NODE, "path": […]} stands for the result of an earlier node, {"$from": "$input"} for the ' +
          'input, or for the part at `path`; {"$results": MAP} for the list of the results of a map\'s items; {"$literal": …} takes a value as it is, and other keys that begin with $ are refused',
      ),
    ),
    dependsOn: Type.Optional(
      Type.Array(WorkflowDependency, {
        maxItems: WORKFLOW_EDGES_MAX,
        description: "nodes that must end first; left out: the node runs at once",
      }),
    ),
    join: Type.Optional(WorkflowJoin),
    allowFailure: Type.Optional(
      Type.Boolean({
        description: "whether the run can succeed although the node is DEAD or CANCELLED; default false",
      }),
    ),
    compensate: Type.Optional(WorkflowCompensation),
    map: Type.Optional(MapSource),
    maxRunning: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: WORKFLOW_LIVE_MAX,
        description: "with map: items that exist and have not ended at a time; default 4,000, the limit of a run",
      }),
    ),
    tolerate: Type.Optional(Tolerate),
    ...policies,
    ...key,
  },
  closed,
);
export type WorkflowNodeSubmission = Static<typeof WorkflowNodeSubmission>;

/** Node that a handler adds to the run of its own node, without the name and the payload. */
export const SpawnedNodeDefinition = Type.Object(
  {
    target,
    dependsOn: Type.Optional(Type.Array(WorkflowDependency, { maxItems: SPAWN_EDGES_MAX })),
    join: Type.Optional(WorkflowJoin),
    allowFailure: Type.Optional(Type.Boolean()),
    detached: Type.Optional(Type.Boolean()),
    ...policies,
  },
  closed,
);
export type SpawnedNodeDefinition = Static<typeof SpawnedNodeDefinition>;

const nodesSize = {
  minItems: 1,
  maxItems: WORKFLOW_NODES_MAX,
  description: "1 to 10,000 nodes with 100,000 dependencies and 32 MiB in all",
};

const fromSize = {
  minItems: 1,
  maxItems: WORKFLOW_NODES_MAX,
  description: "names of nodes that run again besides those that have not SUCCEEDED",
};

const head = {
  name: Type.Optional(Line("1 to 255 characters; several workflows that run once may have one name")),
  labels: Type.Optional(Labels),
  priority,
  timeoutSec: Type.Optional(
    Type.Number({
      minimum: 1,
      maximum: 10 * 365 * 86_400,
      description: "time for the whole run; then it is DEAD; default 31536000",
    }),
  ),
  uniqueKey: JobSubmission.properties.uniqueKey,
  onFinish: JobSubmission.properties.onFinish,
  concurrencyKey: Type.Optional(
    Line("at most concurrencyLimit runs and executions of one key are open at once; up to 255"),
  ),
  concurrencyLimit: JobSubmission.properties.concurrencyLimit,
  runAt: JobSubmission.properties.runAt,
  delayMs: JobSubmission.properties.delayMs,
  startBefore: JobSubmission.properties.startBefore,
  ...Type.Partial(Type.Object(RecurrenceFields)).properties,
  input: Type.Optional(AnyJson("any JSON, up to 1 MiB; payloads refer to it")),
  ...graphFields,
};

/** Body of POST /v1/workflows. */
export const WorkflowSubmission = named(
  "WorkflowSubmission",
  { ...head, nodes: Type.Array(WorkflowNodeSubmission, nodesSize) },
  closed,
);
export type WorkflowSubmission = Static<typeof WorkflowSubmission>;
/** Schema of a workflow without its nodes, which the route checks one by one. */
export const WorkflowEnvelope = Type.Object({ ...head, nodes: Type.Array(Type.Unknown(), nodesSize) }, closed);
export type WorkflowEnvelope = Static<typeof WorkflowEnvelope>;

const acceptedFields = {
  workflowId: Uuid("the run; an execution of the job"),
  jobId: Uuid("the job of the workflow"),
  state: oneOf(
    ["RUNNING", "PENDING"],
    "state of the run when the server took the workflow. PENDING: it waits for its time or its concurrency key",
  ),
  nodes: Type.Integer({ minimum: 1, description: "number of nodes" }),
  startsAt: InstantOrNull("when it is to start; null: at once, or as soon as its concurrency key allows"),
  executionIds: Type.Record(Type.String(), Uuid("an execution"), {
    description:
      "executions of the nodes that start at once, by the node's name; the first 1,000; none while the run is PENDING",
  }),
  warnings: Warnings,
};
export const WorkflowAccepted = named("WorkflowAccepted", acceptedFields);
export type WorkflowAccepted = Static<typeof WorkflowAccepted>;

export const WorkflowPlanned = named("WorkflowPlanned", {
  jobId: Uuid("the recurring job of the workflow, which starts a run at each planned instant"),
  state: oneOf(["ACTIVE"], "as it was when it was taken"),
  nodes: Type.Integer({ minimum: 1, description: "number of nodes" }),
  nextFireAt: InstantOrNull("the first planned instant"),
  warnings: Warnings,
});
export type WorkflowPlanned = Static<typeof WorkflowPlanned>;

/** Body of POST /v1/workflows/{workflowId}/retry. */
export const WorkflowRetry = named(
  "WorkflowRetry",
  {
    from: Type.Optional(
      Type.Union([oneOf(["FAILED"], "nodes that have not SUCCEEDED"), Type.Array(Type.String(), fromSize)], {
        description:
          "what runs again, with all nodes that depend on it: FAILED (the default), the nodes that have not SUCCEEDED; or names of further nodes",
      }),
    ),
  },
  closed,
);
export type WorkflowRetry = Static<typeof WorkflowRetry>;

export const RetriedWorkflow = named("RetriedWorkflow", {
  ...acceptedFields,
  retryOf: Uuid("the run that this one retries"),
});
export type RetriedWorkflow = Static<typeof RetriedWorkflow>;

export const WorkflowDeduplicated = named("WorkflowDeduplicated", {
  workflowId: Uuid("the execution that holds the unique key"),
  jobId: Uuid("the job that holds the unique key"),
  deduplicated: Type.Literal(true),
});
export type WorkflowDeduplicated = Static<typeof WorkflowDeduplicated>;
