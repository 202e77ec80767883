import type { FinalState } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, WorkerId } from "../domain/ids.ts";

/** A reason why an execution is in its present state. Several reasons may hold at once. */
export type WaitReason =
  /** The execution has ended. `why`: the reason in its row; null: none. */
  | { reason: "FINAL"; state: FinalState; why: string | null; finishedAt: EpochMs | null }
  | { reason: "RUNNING"; attempt: number; workerId: WorkerId; startedAt: EpochMs; timesOutAt: EpochMs }
  /**
   * The execution was assigned to a worker that has not reported its start: the assignment is on its way, or waits
   * there for a slot.
   */
  | { reason: "ASSIGNED"; attempt: number; workerId: WorkerId; assignedAt: EpochMs }
  /**
   * Comes with ASSIGNED after more than a second, if every slot of the worker was occupied when its gateway last listed
   * the worker. `stuck`: slots of handlers that still run although their attempts are over. Sent only if every node
   * knows this reason: NO_FREE_SLOT_REASON.
   */
  | { reason: "WORKER_HAS_NO_FREE_SLOT"; workerId: WorkerId; stuck: number }
  /** An earlier owner assigned the execution to the worker, which has time until `until` to appear again. */
  | { reason: "WORKER_AWAITED"; attempt: number; workerId: WorkerId; until: EpochMs }
  | { reason: "CANCEL_REQUESTED"; attempt: number; workerId: WorkerId }
  | { reason: "DUE_LATER"; dueAt: EpochMs }
  /** The handler suspended in `ctx.step.sleep`. */
  | { reason: "SLEEPING"; until: EpochMs }
  /**
   * The handler suspended in `ctx.step.waitForSignal`, until a signal of one of these names arrives. The api adds the
   * names, which only the store has.
   */
  | { reason: "AWAITS_SIGNAL"; until: EpochMs; signals?: string[] }
  /**
   * Comes with a suspension or an attempt that the end of the execution's lifetime cuts off. Sent only if every node knows
   * this reason: MAX_LIFETIME.
   */
  | { reason: "LIFETIME_ENDS"; endsAt: EpochMs; maxLifetimeSec: number }
  | { reason: "BACKOFF"; until: EpochMs; failures: number; maxAttempts: number }
  /** An operator has suspended the tenant of the execution. */
  | { reason: "TENANT_SUSPENDED" }
  | { reason: "POOL_PAUSED"; pool: string }
  /** The workflow run of the node is paused. */
  | { reason: "WORKFLOW_PAUSED"; workflowId: ExecutionId }
  /** `running` attempts of the pool are current, over all owners. `limit` are allowed. */
  | { reason: "POOL_AT_LIMIT"; pool: string; limit: number; running: number }
  /** The pool's rate allows no start before `nextStartAt`, and more urgent executions go first then. */
  | { reason: "POOL_RATE_USED"; pool: string; ratePerSec: number; nextStartAt: EpochMs }
  /** The pool or the tenant has limits, whose coordinator has not answered the owner's request for permits yet. */
  | { reason: "PERMIT_AWAITED"; pool: string }
  /** `running` attempts of the execution's tenant are current, over all owners and pools. `limit` are allowed. */
  | { reason: "TENANT_AT_LIMIT"; limit: number; running: number }
  /** Work of other tenants in the pool goes first, because they have fewer attempts by weight. */
  | { reason: "TENANT_TURN" }
  /** No worker of the pool offers the handler. */
  | { reason: "NO_WORKER_FOR_HANDLER"; pool: string; handler: string; workersInPool: number }
  /**
   * `missing`: the capabilities that no worker with the handler has. If each is found at some worker, what the closest
   * worker lacks.
   */
  | { reason: "NO_WORKER_WITH_CAPABILITY"; handler: string; missing: string[]; workersWithHandler: number }
  /** `workers` workers could run the execution. `draining` of them accept no new work. */
  | { reason: "ALL_SLOTS_BUSY"; workers: number; draining: number; slots: number; held: number }
  /** `heldBy`: up to ten of the executions that hold the concurrency key. */
  | { reason: "KEY_AT_LIMIT"; key: string; limit: number; running: number; heldBy: KeyHolder[] }
  /**
   * The execution is ready, and `ahead` executions of its lane go first. null: the execution is in the store, behind
   * the first `known` ones.
   */
  | { reason: "QUEUED"; ahead: number | null; known: number }
  /** No owner of the shard answered, so the execution's row is all that is known. */
  | { reason: "OWNER_SILENT" };

export interface KeyHolder {
  executionId: ExecutionId;
  /** 0: an open run of a workflow. */
  attempt: number;
  /** null: an open run of a workflow. */
  workerId: WorkerId | null;
}
