import { type Static, type TObject, type TProperties, Type } from "typebox";
import { ExecutionState, FinalState, RunMode } from "./execution.ts";
import { Count, described, Instant, InstantOrNull, named, oneOf, orNull, StringOrNull, Uuid } from "./fields.ts";

function reason<const R extends string, P extends TProperties>(name: R, description: string, figures: P) {
  const title = `${words(name)}Reason`;
  return named(title, { reason: oneOf([name], description), ...figures }) as TObject<
    { reason: ReturnType<typeof oneOf<readonly [R]>> } & P
  >;
}

/** Turns NO_WORKER into NoWorker. */
function words(name: string): string {
  return name.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}

const holder = { attempt: Count("the attempt"), workerId: Type.String() };

const mapFigures = {
  live: Count("items with an execution that is not final"),
  unborn: Count("items without an execution"),
  limit: Count("maxRunning of the map"),
};

export const WaitReason = Type.Union(
  [
    reason("FINAL", "it waits for nothing any more", {
      state: FinalState,
      why: StringOrNull("where the state does not say it"),
      finishedAt: InstantOrNull("when"),
    }),
    reason("RUNNING", "its handler runs", {
      ...holder,
      startedAt: Instant("when it started"),
      timesOutAt: Instant("its hard limit"),
    }),
    reason("ASSIGNED", "a worker has it and has not started it", { ...holder, assignedAt: Instant("since when") }),
    reason("WORKER_HAS_NO_FREE_SLOT", "the worker that has it has no free slot; beside ASSIGNED, after a second", {
      workerId: Type.String(),
      stuck: Count("slots there whose handlers still run although their attempts are over"),
    }),
    reason("WORKER_AWAITED", "its worker is to come back after a server's restart", {
      ...holder,
      until: Instant("then the worker counts as lost"),
    }),
    reason("CANCEL_REQUESTED", "its worker was told to stop it", holder),
    reason("DUE_LATER", "its time has not come", { dueAt: Instant("its time") }),
    reason("SLEEPING", "its handler sleeps, and holds no slot", { until: Instant("when the first sleep is over") }),
    reason("AWAITS_SIGNAL", "its handler waits for a signal, and holds no slot", {
      until: Instant("when the handler goes on without a signal"),
      signals: Type.Optional(Type.Array(Type.String(), { description: "names of signals that it waits for" })),
    }),
    reason("LIFETIME_ENDS", "the lifetime of the execution cuts its wait or its attempt off: it is DEAD then", {
      endsAt: Instant("end of the lifetime"),
      maxLifetimeSec: Type.Number({ description: "of the job" }),
    }),
    reason("BACKOFF", "it failed and is tried again", {
      until: Instant("when"),
      failures: Count("so far"),
      maxAttempts: Count("failures after which it is DEAD"),
      lastError: orNull(named("LastError", { name: Type.String(), message: Type.String() }), "what it failed with"),
    }),
    reason("WORKFLOW_PAUSED", "the run of the node is paused: no node of it is started", {
      workflowId: Uuid("the run"),
    }),
    reason("TENANT_SUSPENDED", "an operator has suspended its tenant: nothing of it is started", {}),
    reason("POOL_PAUSED", "nothing of its pool is started", { pool: Type.String() }),
    reason("POOL_AT_LIMIT", "as many of its pool are at workers as may be", {
      pool: Type.String(),
      limit: Count("maxRunning of the pool"),
      running: Type.Optional(Count("of them, over all servers; left out for tenants that share the pool")),
    }),
    reason("POOL_RATE_USED", "as many of its pool have begun lately as may begin", {
      pool: Type.String(),
      ratePerSec: Type.Number({ description: "of the pool" }),
      nextStartAt: Instant("when the next one may begin; the most urgent goes first"),
    }),
    reason("PERMIT_AWAITED", "what is used of the limits of its pool or its tenant is being counted anew", {
      pool: Type.String(),
    }),
    reason("TENANT_AT_LIMIT", "as many of its tenant are at workers as may be, in all pools together", {
      limit: Count("maxRunning of the tenant"),
      running: Count("of them, over all servers"),
    }),
    reason("TENANT_TURN", "work of other tenants in its pool goes first", {}),
    reason("NO_WORKER_FOR_HANDLER", "no worker of the pool offers its handler", {
      pool: Type.String(),
      handler: Type.String(),
      workersInPool: Count("workers of the pool"),
      offeredIn: Type.Optional(
        Type.Array(Type.String(), {
          description:
            "pools whose workers offer the handler, by name; ten at most. Left out by a server of an earlier release",
        }),
      ),
    }),
    reason("NO_WORKER_WITH_CAPABILITY", "workers offer the handler, and none has all that it requires", {
      handler: Type.String(),
      missing: Type.Array(Type.String(), { description: "what nobody has, else what the closest one lacks" }),
      workersWithHandler: Count("workers that offer the handler"),
    }),
    reason("ALL_SLOTS_BUSY", "every worker that could run it has enough to do", {
      workers: Count("workers that could run it"),
      draining: Count("those of them that take nothing new"),
      slots: Count("of all of them"),
      held: Type.Optional(Count("executions that they hold; left out for tenants that share them")),
    }),
    reason("KEY_AT_LIMIT", "as many of its concurrency key run as may", {
      key: Type.String(),
      limit: Count("how many may"),
      running: Count("how many do"),
      heldBy: Type.Array(
        named("KeyHolder", {
          executionId: Uuid("a holder"),
          attempt: Count("the attempt; 0: an open run of a workflow"),
          workerId: StringOrNull("its worker; null: an open run of a workflow"),
        }),
        {
          description: "up to ten",
        },
      ),
    }),
    reason("QUEUED", "it is ready and waits for its turn", {
      ahead: orNull(Type.Integer({ minimum: 0 }), "those of its kind that go first; null: more than `known`"),
      known: Count("those of its kind that its owner has at hand"),
    }),
    reason("PARENTS_OPEN", "the node of a workflow waits for other nodes, or a run of a workflow for its nodes", {
      open: Count("nodes for which it waits"),
      first: Type.Array(Type.String(), {
        description: "names of the first 20 of them; those that have begun come first",
      }),
      mode: Type.Optional(described(RunMode, "mode of the run; left out: a node waits")),
      explained: Type.Optional(
        Type.String({ description: "path under which each node of the run has its reasons; left out: a node waits" }),
      ),
    }),
    reason("CHILD_RUNS", "the sub-workflow of the node runs, and has reasons of its own", {
      workflowId: Uuid("the run of the sub-workflow"),
    }),
    reason("COMPENSATES_AFTER", "compensations of nodes after it must SUCCEED first", {
      open: Count("nodes with such compensations"),
      first: Type.Array(Type.String(), { description: "names of the first 20 of them" }),
    }),
    reason(
      "EXECUTION_AWAITED",
      "the dependencies of the node are met; the owner of the run has yet to create its execution",
      {
        live: Count("nodes of the run with an execution that is not final; a run has 4,000 of them at most"),
      },
    ),
    reason("ITEMS_BEING_COUNTED", "the owner of the run has asked for the number of items of the map", {}),
    reason("MAP_AT_LIMIT", "as many items of the map exist and have not ended as its maxRunning allows", mapFigures),
    reason("MAP_ITEMS_RUN", "items of the map have not ended, or wait for room in their run", mapFigures),
    reason("OWNER_SILENT", "no scheduler answered: this is what its row says", {}),
  ],
  { title: "WaitReason" },
);

export const ExplanationBody = named("Explanation", {
  executionId: Uuid("the execution"),
  state: ExecutionState,
  reasons: Type.Array(WaitReason, { description: "every reason that holds now" }),
});
export type ExplanationBody = Static<typeof ExplanationBody>;
